import type { Database } from '@libs/persistence';
import { eventually } from '../support/eventually';
import { TABLES } from './fault-plan';

const BACK_WITHIN_MS = 60_000;

/** Every other conflict is a deadlock, the others are serialization failures. */
const FUNCTION = `
  CREATE FUNCTION storm_conflict() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN
    IF random() < coalesce((SELECT share FROM public.storm_conflicts WHERE name = TG_TABLE_NAME), 0) THEN
      IF random() < 0.5 THEN RAISE EXCEPTION 'a conflict of the storm' USING ERRCODE = '40P01'; END IF;
      RAISE EXCEPTION 'a conflict of the storm' USING ERRCODE = '40001';
    END IF;
    RETURN NULL;
  END $$`;

/** Deadlocks and serialization failures, as other sessions of PostgreSQL cause them: triggers that raise the error. */
export class Conflicts {
  private constructor(private readonly database: Database) {}

  static async prepare(database: Database): Promise<Conflicts> {
    await database.execute({ sql: 'CREATE TABLE storm_conflicts (name text PRIMARY KEY, share float8 NOT NULL)' });
    await database.execute({ sql: FUNCTION });
    for (const table of TABLES) {
      await database.execute({
        sql: `CREATE TRIGGER storm_conflict BEFORE INSERT OR UPDATE OR DELETE ON ${table}
              FOR EACH STATEMENT EXECUTE FUNCTION storm_conflict()`,
      });
    }
    return new Conflicts(database);
  }

  /** From now on this share of the statements that change the table fails. */
  async begin(table: string, share: number): Promise<void> {
    await this.database.execute({
      sql: `INSERT INTO storm_conflicts VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET share = $2`,
      values: [table, share],
    });
  }

  async end(table: string): Promise<void> {
    await this.#certainly({ sql: 'DELETE FROM storm_conflicts WHERE name = $1', values: [table] });
  }

  async endAll(): Promise<void> {
    await this.#certainly({ sql: 'DELETE FROM storm_conflicts' });
  }

  /** PostgreSQL may be away at this moment, by another fault. */
  async #certainly(statement: { readonly sql: string; readonly values?: readonly string[] }): Promise<void> {
    await eventually('conflicts end', BACK_WITHIN_MS, () =>
      this.database.execute(statement).then(
        () => true,
        () => undefined,
      ),
    );
  }
}
