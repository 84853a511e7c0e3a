class Tributary < Formula
  desc "SQL database that trains models where the data is"
  homepage "https://github.com/tributarydb/tributary"
  version "${VERSION}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/tributarydb/tributary/releases/download/v${VERSION}/tributary_${VERSION}_darwin_arm64.tar.gz"
      sha256 "${DARWIN_ARM64}"
    end
    on_intel do
      url "https://github.com/tributarydb/tributary/releases/download/v${VERSION}/tributary_${VERSION}_darwin_amd64.tar.gz"
      sha256 "${DARWIN_AMD64}"
    end
  end
  on_linux do
    on_arm do
      url "https://github.com/tributarydb/tributary/releases/download/v${VERSION}/tributary_${VERSION}_linux_arm64.tar.gz"
      sha256 "${LINUX_ARM64}"
    end
    on_intel do
      url "https://github.com/tributarydb/tributary/releases/download/v${VERSION}/tributary_${VERSION}_linux_amd64.tar.gz"
      sha256 "${LINUX_AMD64}"
    end
  end

  def install
    bin.install "tributary"
    man1.install Dir["man/*.1.gz"]
    bash_completion.install "completion/tributary.bash" => "tributary"
    zsh_completion.install "completion/_tributary"
    fish_completion.install "completion/tributary.fish"
  end

  service do
    run [opt_bin/"tributary", "serve", "--data", var/"lib/tributary"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tributary version")
  end
end
