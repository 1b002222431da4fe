import { queues } from '@libs/contracts';
import { startFeedOwner, type AppContext, type RunningApp } from '@libs/platform';
import type { AuthEnv } from './auth.env';
import { AuthModule } from './auth.module';
import { ExpiryService } from './expiry/expiry.service';
import { LedgerAuditService } from './ledger-audit/ledger-audit.service';

/** Resolves when the app answers calls. */
export async function start(context: AppContext<AuthEnv>): Promise<RunningApp> {
  const app = await startFeedOwner(context, AuthModule.for(context.env), [
    queues.auth,
    queues.authChanges,
    queues.authExchanges,
  ]);
  const [expiry, audit] = [app.get(ExpiryService), app.get(LedgerAuditService)];
  expiry.start();
  audit.start();
  context.drainSteps.addBeside('expiry', () => expiry.stop());
  context.drainSteps.addBeside('ledger audit', () => audit.stop());
  return { stop: () => app.close() };
}
