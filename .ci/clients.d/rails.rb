# ActiveRecord connects (it asks for signatures of I/O functions), migrates, writes, reads and describes.
require 'logger'
require 'active_record'
ActiveRecord::Base.establish_connection(ENV.fetch('URL').sub('postgres:', 'postgresql:'))
ActiveRecord::Migration.verbose = false
ActiveRecord::Schema.define do
  create_table :rails_posts, force: true do |t|
    t.string :title, null: false, limit: 40
    t.text :body
    t.jsonb :extra
    t.integer :tags, array: true
    t.decimal :price, precision: 10, scale: 2
    t.timestamps
    t.index :title, unique: true
  end
end
class RailsPost < ActiveRecord::Base; end
RailsPost.create!(title: 'one', extra: { a: 1 }, tags: [1, 2], price: '1.50')
RailsPost.insert_all([{ title: 'two', created_at: Time.now, updated_at: Time.now }])
RailsPost.upsert({ title: 'two', body: 'again', created_at: Time.now, updated_at: Time.now }, unique_by: :title)
post = RailsPost.find_by!(title: 'one')
raise 'values' unless post.extra == { 'a' => 1 } && post.tags == [1, 2] && post.price == BigDecimal('1.5')
raise 'upsert' unless RailsPost.find_by!(title: 'two').body == 'again'
raise 'lock' unless RailsPost.transaction { RailsPost.lock.find(post.id).update!(body: 'locked') }
raise 'explain' unless RailsPost.where(title: 'one').explain.include?('QUERY PLAN')
c = ActiveRecord::Base.connection
raise 'columns' unless c.columns(:rails_posts).map(&:name).include?('extra') && c.primary_key(:rails_posts) == 'id'
raise 'indexes' unless c.indexes(:rails_posts).map(&:columns) == [['title']]
c.drop_table(:rails_posts)
puts "rails: ActiveRecord #{ActiveRecord.version}"
