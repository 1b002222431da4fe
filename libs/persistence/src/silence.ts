import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';

/** Time for PostgreSQL's message to arrive after it must have ended a statement. */
const ON_THE_WAY_MS = 5_000;

/** Fields of the driver's client that its types leave out. */
interface Wire {
  readonly connection: { readonly stream: Socket };
  /** False while a statement is not answered. */
  readonly readyForQuery: boolean;
}

const usualMs = new WeakMap<object, number>();

/**
 * Ends a connection without a response for longer than PostgreSQL lets a statement run: the host is gone, or the
 * network has silently dropped the connection. TCP alone notices that after a quarter of an hour, if at all, and until
 * then each such connection is missing from the pool.
 * @param statementMs PostgreSQL's own limit; 0 means no limit, so nothing is ended
 */
export function endWhenSilent(client: ClientBase, statementMs: number): void {
  const wire = client as unknown as Wire;
  const { stream } = wire.connection;
  usualMs.set(client, statementMs);
  expectWithin(client, statementMs);
  stream.on('timeout', () => {
    const heard = stream.bytesRead;
    // After the process stood still, data that has arrived meanwhile is read first.
    setImmediate(() => {
      if (!wire.readyForQuery && stream.bytesRead === heard) stream.destroy();
    });
  });
}

/** Sets how long statements of this connection may take from now on. */
export function expectWithin(client: ClientBase, statementMs: number): void {
  const { stream } = (client as unknown as Wire).connection;
  stream.setTimeout(statementMs === 0 ? 0 : statementMs + ON_THE_WAY_MS);
}

/** Restores the usual limit of statements. */
export function expectUsual(client: ClientBase): void {
  expectWithin(client, usualMs.get(client) ?? 0);
}
