import { Query, type Connection, type PoolClient, type QueryResult, type QueryResultRow, type Submittable } from 'pg';
import { toQuery, type SqlStatement } from '../session';
import { ENTER_TENANT, type TenantScope } from './tenant';

const ENTER = 'enter-tenant';
/** Connections that have ENTER prepared. */
const prepared = new WeakSet<PoolClient>();

/** Methods of a query that the driver calls and its types leave out. */
interface AnsweredQuery {
  submit(connection: Connection): Error | null;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
  handleEmptyQuery(connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
  handleError(error: unknown, connection: Connection): void;
}

/**
 * Runs one statement as a tenant, in one round trip. The statement that switches the transaction to the tenant and the
 * statement itself are sent together before one Sync, and PostgreSQL runs everything before a Sync as one transaction.
 * When that ends in any way, role and settings are restored, so the next user of the connection is not affected. If the
 * statement is `BEGIN`, the transaction continues as the tenant's.
 *
 * The first time on a connection costs one more round trip, in which the switching statement is prepared.
 */
export async function queryAsTenant<Row extends QueryResultRow>(
  client: PoolClient,
  scope: TenantScope,
  statement: SqlStatement,
): Promise<QueryResult<Row>> {
  if (!prepared.has(client)) {
    await client.query({ name: ENTER, text: ENTER_TENANT, values: [...scope] });
    prepared.add(client);
  }
  return client.query(new TenantQuery<Row>(scope, statement)).done;
}

class TenantQuery<Row extends QueryResultRow> implements Submittable {
  readonly done: Promise<QueryResult<Row>>;
  /** The driver remembers by name what a connection has prepared. */
  readonly name: string | undefined;
  readonly text: string;
  private readonly query: AnsweredQuery;
  private hasEntered = false;

  constructor(
    private readonly scope: TenantScope,
    statement: SqlStatement,
  ) {
    // Simple queries end with a separate transaction.
    const config = { ...toQuery(statement), queryMode: 'extended' };
    this.name = config.name;
    this.text = config.text;
    let told: (error: unknown, result: unknown) => void;
    this.done = new Promise((resolve, reject) => {
      told = (error, result) => {
        if (error) reject(error);
        else resolve(result as QueryResult<Row>);
      };
    });
    this.query = new Query<Row>(config, (error, result) => told(error, result)) as unknown as AnsweredQuery;
  }

  submit(connection: Connection): Error | null {
    connection.stream.cork();
    try {
      connection.bind({ statement: ENTER, values: [...this.scope] }, true);
      connection.execute({}, true);
      const refusal = this.query.submit(connection);
      // The driver sent nothing, so the first statement still waits for its Sync.
      if (refusal !== null) this.refuse(refusal, connection);
      return null;
    } finally {
      connection.stream.uncork();
    }
  }

  private refuse(refusal: Error, connection: Connection): void {
    this.query.handleError(refusal, connection);
    connection.sync();
  }

  handleRowDescription(message: unknown): void {
    this.query.handleRowDescription(message);
  }

  handleDataRow(message: unknown): void {
    this.query.handleDataRow(message);
  }

  /** The first completion belongs to the switching statement. */
  handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.hasEntered) this.query.handleCommandComplete(message, connection);
    this.hasEntered = true;
  }

  handleEmptyQuery(connection: Connection): void {
    this.query.handleEmptyQuery(connection);
  }

  handleReadyForQuery(connection: Connection): void {
    this.query.handleReadyForQuery(connection);
  }

  handleError(error: unknown, connection: Connection): void {
    this.query.handleError(error, connection);
  }
}
