import type { EventEmitter } from 'node:events';
import type { Database } from '../database';

/**
 * Returns the number of round trips during the work: how often PostgreSQL said that it is ready for a query.
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

/** The answer to a call, with or without an error, and the number of its round trips. */
export interface Answered {
  readonly answer: string;
  readonly roundTrips: number;
}

/**
 * Calls `ask` with a foreign id and with an unknown one, and returns both answers. A first call with the unknown id
 * prepares the statements for both.
 *
 * @param database with a pool of one connection
 */
export async function answersToForeign(
  database: Database,
  ask: (id: string) => Promise<unknown>,
  ids: { readonly foreign: string; readonly unknown: string },
): Promise<Record<'foreign' | 'unknown', Answered>> {
  const answerTo = async (id: string): Promise<Answered> => {
    let answer = '';
    const asked = async (): Promise<unknown> => (answer = await ask(id).then((said) => JSON.stringify(said), String));
    const roundTrips = await roundTripsOf(database, asked);
    return { answer, roundTrips };
  };
  await answerTo(ids.unknown);
  return { unknown: await answerTo(ids.unknown), foreign: await answerTo(ids.foreign) };
}
