PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE memo (
        definition BLOB NOT NULL,
        inputs BLOB NOT NULL,
        tree BLOB NOT NULL,
        at INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        PRIMARY KEY (definition, inputs, tree)
    ) STRICT, WITHOUT ROWID;
INSERT INTO memo VALUES(X'eed45b478b3903b43920f0a67b575ee6',X'a968297ab8c90641c31982c60eb239fe',X'47a473f975dc1eb57a037e36ea0686c0',1794843602932,'{"ending":"completed","text":"Still two.","spent":{"turns":1,"tokens":110},"task":"01a1e503-eff0-7068-95f2-05e2c15a95e1"}');
INSERT INTO memo VALUES(X'eed45b478b3903b43920f0a67b575ee6',X'c03725353d339a7ecd31a9ca909b1f6e',X'47a473f975dc1eb57a037e36ea0686c0',1794843602916,'{"ending":"completed","text":"Two.","spent":{"turns":1,"tokens":110},"task":"01a1e503-efdf-73e5-8db0-00674874a702"}');
COMMIT;
PRAGMA user_version = 1;
