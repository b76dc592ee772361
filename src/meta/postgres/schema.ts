/**
 * The driver's schema and statements. A batch of minitransactions is one call of one function: it takes advisory locks
 * for all keys in a fixed order, then checks, then writes. Each statement of a volatile function has a new snapshot
 * under READ COMMITTED, so the checks run with the locks held; and since every writer uses the function, the locks make
 * commits serializable. They also cover absent keys.
 */
import { HEAD_BYTES } from '../meta.ts'

/** Milliseconds since 1970, read at this moment and not when its transaction began. */
export const SERVER_TIME = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms'

const TABLE_NAME = /^[a-z][a-z0-9_]{0,40}$/

export interface Statements {
  readonly setUp: readonly string[]
  readonly commit: string
  readonly giveUp: string
  readonly outcome: string
  readonly forget: string
  readonly get: string
  readonly scan: (hasEnd: boolean, reverse: boolean) => string
  readonly scanWithKeys: (hasEnd: boolean, headsOnly: boolean) => string
}

/**
 * Changes a table only where that is needed. Otherwise every start would wait for whoever uses the table, such as a
 * backup with its snapshot, and all reads and commits of other processes would wait behind it.
 */
const changeIf = (condition: string, statement: string): string =>
  `DO $$ BEGIN IF ${condition} THEN ${statement}; END IF; END $$`

function setUp(t: string): readonly string[] {
  return [
    // EXTERNAL: long values are stored out of line but not compressed, which would cost more time than it saves space.
    `CREATE TABLE IF NOT EXISTS ${t} (k bytea PRIMARY KEY, v bytea NOT NULL, s bigint NOT NULL)`,
    changeIf(
      `EXISTS (SELECT FROM pg_attribute WHERE attrelid = '${t}'::regclass AND attname = 'v' AND attstorage <> 'e')`,
      `ALTER TABLE ${t} ALTER COLUMN v SET STORAGE EXTERNAL`,
    ),
    `CREATE SEQUENCE IF NOT EXISTS ${t}_stamp`,
    // failed: minitransactions of the batch whose checks failed. NULL: given up, the batch must never run.
    `CREATE TABLE IF NOT EXISTS ${t}_outcome
      (token uuid PRIMARY KEY, failed int[], at timestamptz NOT NULL DEFAULT now())`,
    changeIf(`to_regclass('${t}_outcome_at') IS NULL`, `CREATE INDEX ${t}_outcome_at ON ${t}_outcome (at)`),
    `CREATE OR REPLACE FUNCTION ${t}_commit(batch uuid, lock_hash bigint[], lock_write boolean[],
        check_key bytea[], check_stamp bigint[], check_of int[], write_key bytea[], write_value bytea[], write_of int[])
      RETURNS int[] LANGUAGE plpgsql VOLATILE AS $$
      DECLARE refused int[]; stamp bigint;
      BEGIN
        PERFORM CASE WHEN w THEN pg_advisory_xact_lock(h) ELSE pg_advisory_xact_lock_shared(h) END
          FROM unnest(lock_hash, lock_write) AS l(h, w);
        SELECT coalesce(array_agg(DISTINCT c.i), '{}') INTO refused
          FROM unnest(check_key, check_stamp, check_of) AS c(k, s, i) LEFT JOIN ${t} AS r ON r.k = c.k
          WHERE r.s IS DISTINCT FROM c.s;
        IF NOT EXISTS (SELECT FROM unnest(write_of) AS w(i) WHERE w.i <> ALL (refused)) THEN RETURN refused; END IF;
        stamp := nextval('${t}_stamp');
        INSERT INTO ${t} AS r (k, v, s)
          SELECT w.k, w.v, stamp FROM unnest(write_key, write_value, write_of) AS w(k, v, i)
            WHERE w.v IS NOT NULL AND w.i <> ALL (refused)
          ON CONFLICT (k) DO UPDATE SET v = excluded.v, s = excluded.s;
        IF array_position(write_value, NULL) IS NOT NULL THEN
          DELETE FROM ${t} AS r USING unnest(write_key, write_value, write_of) AS w(k, v, i)
            WHERE r.k = w.k AND w.v IS NULL AND w.i <> ALL (refused);
        END IF;
        INSERT INTO ${t}_outcome (token, failed) VALUES (batch, refused);
        RETURN refused;
      END $$`,
  ]
}

export function statements(table: string): Statements {
  if (!TABLE_NAME.test(table)) throw new Error(`'${table}' is not a valid table name`)
  const t = table
  const scan = (hasEnd: boolean, reverse: boolean): string =>
    `SELECT k, v, s FROM ${t} WHERE k >= $1 ${hasEnd ? 'AND k < $3' : ''}
      ORDER BY k ${reverse ? 'DESC' : 'ASC'} LIMIT $2`
  /** The client has the value of a record whose stamp is unchanged. */
  const valueUnlessKnown = 'CASE WHEN r.s = u.s THEN NULL ELSE r.v END'
  const head = (value: string): string => `substr(${value}, 1, ${HEAD_BYTES})`
  const requested = (first: number): string =>
    `unnest($${first}::bytea[], $${first + 1}::bigint[]) WITH ORDINALITY AS u(k, s, i)`
  return {
    setUp: setUp(t),
    commit: `SELECT ${t}_commit($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    giveUp: `INSERT INTO ${t}_outcome (token, failed) VALUES ($1, NULL) ON CONFLICT DO NOTHING`,
    outcome: `SELECT failed FROM ${t}_outcome WHERE token = $1`,
    forget: `DELETE FROM ${t}_outcome WHERE token IN
      (SELECT token FROM ${t}_outcome WHERE at < now() - interval '1 hour' ORDER BY at LIMIT 5000)`,
    get: `SELECT u.i, ${valueUnlessKnown}, r.s FROM ${requested(1)} JOIN ${t} AS r ON r.k = u.k`,
    scan,
    // One statement has one snapshot.
    scanWithKeys: (hasEnd, headsOnly) =>
      `(SELECT 0::bigint AS i, c.k, ${headsOnly ? head('c.v') : 'c.v'}, c.s FROM (${scan(hasEnd, false)}) AS c)
        UNION ALL
        (SELECT u.i, NULL, ${valueUnlessKnown}, r.s FROM ${requested(hasEnd ? 4 : 3)} JOIN ${t} AS r ON r.k = u.k)`,
  }
}
