import { InferenceEngine, type EngineParts } from '../engine/engine';
import { createProviderAdapters } from '../providers';
import { UpstreamHttp, type UpstreamHttpOptions } from '../wire/upstream-http';
import { SharedCredentials } from '../routing/credential-source';
import { ProviderHealth } from '../routing/provider-health';
import type { Model } from '../catalogue/catalogue';
import { aCatalogue } from './catalogue-fixture';

export const FIXTURE_KEY = 'sk-acme-0123456789abcdefghij';

/** Far below the real bound, so that a test can go beyond it at once. */
const LARGEST_BODY_BYTES = 4 * 1024 * 1024;

/** A real engine over real HTTP for these models. The dice always show 0; close `http` in the end. */
export function anEngine(models: readonly Model[], parts: Partial<EngineParts> = {}, wires: UpstreamHttpOptions = {}) {
  const http = new UpstreamHttp({ largestBodyBytes: LARGEST_BODY_BYTES, ...wires });
  const catalogue = aCatalogue(...models);
  const clock = parts.clock ?? Date.now;
  const engine = new InferenceEngine({
    catalogue: () => catalogue,
    adapters: createProviderAdapters(http),
    credentials: new SharedCredentials({ ACME_API_KEY: FIXTURE_KEY }),
    health: new ProviderHealth(clock),
    clock,
    dice: () => 0,
    ...parts,
  });
  return { engine, http };
}
