import { queues } from '@libs/contracts';
import { startFeedOwner, type AppContext, type RunningApp } from '@libs/platform';
import type { CredentialsEnv } from './credentials.env';
import { CredentialsModule } from './credentials.module';

/** Resolves when the app answers calls. */
export async function start(context: AppContext<CredentialsEnv>): Promise<RunningApp> {
  const owned = [queues.credentials, queues.credentialsChanges];
  const app = await startFeedOwner(context, CredentialsModule.for(context.env), owned);
  return { stop: () => app.close() };
}
