import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { queues } from '@libs/contracts';
import {
  consumeQueues,
  FeedOwner,
  nestOptions,
  PlatformModule,
  type AppContext,
  type RunningApp,
} from '@libs/platform';
import type { AuthEnv } from './auth.env';
import { AuthModule } from './auth.module';
import { ExpiryService } from './expiry/expiry.service';
import { LedgerAuditService } from './ledger-audit/ledger-audit.service';

/** Resolves when questions are being answered. The app has no HTTP of its own beside health. */
export async function start(context: AppContext<AuthEnv>): Promise<RunningApp> {
  const auth = AuthModule.for(context.env);
  const root = { ...auth, imports: [PlatformModule.for(context), ...(auth.imports ?? [])] };
  const app = await NestFactory.create(root, new FastifyAdapter(), nestOptions(context));
  await app.init();
  const feed = app.get(FeedOwner, { strict: false });
  const consumption = await consumeQueues(app, {
    amqpUrl: context.env.AMQP_URL,
    queues: [queues.auth, queues.authChanges],
    announce: () => feed.announce(),
  });
  const expiry = app.get(ExpiryService);
  expiry.start();
  const audit = app.get(LedgerAuditService);
  audit.start();
  context.readiness.addCheck('queues', () => consumption.isConnected());
  context.drainSteps.add('queues', () => consumption.drain());
  context.drainSteps.add('expiry', () => expiry.stop());
  context.drainSteps.add('ledger audit', () => audit.stop());
  return { stop: () => app.close() };
}
