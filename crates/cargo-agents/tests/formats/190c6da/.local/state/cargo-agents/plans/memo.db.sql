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
INSERT INTO memo VALUES(X'eed45b478b3903b43920f0a67b575ee6',X'a968297ab8c90641c31982c60eb239fe',X'47a473f975dc1eb57a037e36ea0686c0',1794946977587,'{"ending":"completed","text":"Still two.","spent":{"turns":1,"tokens":110},"task":"01a1eb2d-4ece-77c3-9858-b07ef694165a"}');
INSERT INTO memo VALUES(X'eed45b478b3903b43920f0a67b575ee6',X'c03725353d339a7ecd31a9ca909b1f6e',X'47a473f975dc1eb57a037e36ea0686c0',1794946977427,'{"ending":"completed","text":"Two.","spent":{"turns":1,"tokens":110},"task":"01a1eb2d-4e38-7716-8c9d-58fab167ed6e"}');
COMMIT;
PRAGMA user_version = 1;
