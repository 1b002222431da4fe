import type { EventEmitter } from 'node:events';
import type { Database } from '../database';

/**
 * How often PostgreSQL was asked during the work: how often it said that it is ready for the next question.
 *
 * @param database with a pool of one connection
 */
export async function roundTripsOf(database: Database, work: () => Promise<unknown>): Promise<number> {
  const client = await database.session(async (session) => session.client);
  const { connection } = client as unknown as { readonly connection: EventEmitter };
  let trips = 0;
  const count = (): void => void (trips += 1);
  connection.on('readyForQuery', count);
  try {
    await work();
  } finally {
    connection.off('readyForQuery', count);
  }
  return trips;
}
