import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** For so long after PostgreSQL must have ended a statement its word of that may be on the way. */
const ON_THE_WAY_MS = 5_000;

/** Members of the driver's client that its types leave out. */
interface Wire {
  readonly connection: { readonly stream: Socket };
  /** False while a statement is not answered. */
  readonly readyForQuery: boolean;
}

const usualMs = new WeakMap<object, number>();

/**
 * Ends a connection on which PostgreSQL says nothing of a statement for longer than it lets one run: the host is gone,
 * or the network has dropped the connection without a sign. TCP alone notices that after a quarter of an hour, if at
 * all, and until then each such connection is missing in the pool.
 *
 * @param statementMs PostgreSQL's own limit; 0 is none, so nothing is ended
 */
export function endWhenSilent(client: ClientBase, statementMs: number): void {
  const wire = client as unknown as Wire;
  const { stream } = wire.connection;
  usualMs.set(client, statementMs);
  expectWithin(client, statementMs);
  stream.on('timeout', () => {
    const heard = stream.bytesRead;
    // After a process stood still, what has arrived meanwhile is read first.
    setImmediate(() => {
      if (!wire.readyForQuery && stream.bytesRead === heard) stream.destroy();
    });
  });
}

/** Statements of this connection may take so long from now on. */
export function expectWithin(client: ClientBase, statementMs: number): void {
  const { stream } = (client as unknown as Wire).connection;
  stream.setTimeout(statementMs === 0 ? 0 : statementMs + ON_THE_WAY_MS);
}

/** They may take as long as they usually may. */
export function expectUsual(client: ClientBase): void {
  expectWithin(client, usualMs.get(client) ?? 0);
}
