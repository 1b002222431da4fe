import { randomUUID } from 'node:crypto';
import { mintId } from '@libs/contracts';
import type { Database } from '../database';
import { LedgerRepository } from '../ledger/ledger.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import { VideoIntakeRepository, type NewVideo } from '../videos/video-intake.repository';

/** A video job that can be accepted, of an organization without credits. */
export function aVideo(values: Partial<NewVideo> = {}): NewVideo {
  return {
    id: mintId('gen-vid'),
    organizationId: randomUUID(),
    workspaceId: randomUUID(),
    apiKeyHash: 'a'.repeat(64),
    keyLimit: null,
    model: 'vendor/film',
    provider: 'vendor',
    upstreamModel: 'film',
    region: 'global',
    credentialId: null,
    request: { prompt: 'A heron lands.' },
    dimensions: { resolution: '720p', aspectRatio: '16:9', width: 1280, height: 720 },
    priceUsd: '0.5',
    listPriceUsd: '0.5',
    holdUsd: values.priceUsd ?? '0.5',
    callbackUrl: null,
    idempotency: null,
    lifetimeMs: 3_600_000,
    ...values,
  };
}

/** Funds the organization and accepts the job. */
export async function storeVideo(database: Database, values: Partial<NewVideo> = {}): Promise<NewVideo> {
  const video = aVideo(values);
  const ledger = new LedgerRepository(database);
  await ledger.topUp(video.organizationId, '10', randomUUID());
  await new VideoIntakeRepository(database, ledger, new OutboxRepository(database)).accept(video);
  return video;
}
