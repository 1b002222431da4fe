/**
 * Brings the database that DATABASE_URL names up to date, and makes the logins of DATABASE_LOGINS. Run once per deployment,
 * before the apps.
 */
import { migrate, parseAppLogins } from '@libs/persistence';
import { runMain, say } from './checkout';

async function main(): Promise<void> {
  const url = process.env.DATABASE_URL;
  if (!url) throw new Error('DATABASE_URL must name the database to migrate');
  const { DATABASE_LOGINS = '', DATABASE_CONNECTIONS = '' } = process.env;
  const applied = await migrate(url, parseAppLogins(DATABASE_LOGINS, DATABASE_CONNECTIONS));
  say(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
}

runMain(main);
