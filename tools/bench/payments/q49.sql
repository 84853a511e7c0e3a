-- correlations of ten columns in one row
SELECT corr(x01, x02) AS c12, corr(x01, x03) AS c13, corr(x01, x04) AS c14, corr(x01, x05) AS c15, corr(x01, x06) AS c16, corr(x01, x07) AS c17, corr(x01, x08) AS c18, corr(x01, x09) AS c19, corr(x01, x10) AS c110,
       corr(x02, x03) AS c23, corr(x02, x04) AS c24, corr(x02, x05) AS c25, corr(x02, x06) AS c26, corr(x02, x07) AS c27, corr(x02, x08) AS c28, corr(x02, x09) AS c29, corr(x02, x10) AS c210,
       corr(x03, x04) AS c34, corr(x03, x05) AS c35, corr(x03, x06) AS c36, corr(x03, x07) AS c37, corr(x03, x08) AS c38, corr(x03, x09) AS c39, corr(x03, x10) AS c310,
       corr(x04, x05) AS c45, corr(x04, x06) AS c46, corr(x04, x07) AS c47, corr(x04, x08) AS c48, corr(x04, x09) AS c49, corr(x04, x10) AS c410,
       corr(x05, x06) AS c56, corr(x05, x07) AS c57, corr(x05, x08) AS c58, corr(x05, x09) AS c59, corr(x05, x10) AS c510,
       corr(x06, x07) AS c67, corr(x06, x08) AS c68, corr(x06, x09) AS c69, corr(x06, x10) AS c610, corr(x07, x08) AS c78, corr(x07, x09) AS c79, corr(x07, x10) AS c710,
       corr(x08, x09) AS c89, corr(x08, x10) AS c810, corr(x09, x10) AS c910
FROM profiles
