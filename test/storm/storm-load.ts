import { CALL_APIS } from './evidence';
import { Administrator } from './loads/administrator';
import { BatchSubmitter } from './loads/batch-submitter';
import { makeCall } from './loads/call';
import { Caller } from './loads/callers';
import { KeyManager } from './loads/key-manager';
import type { Actor, LoadTools } from './loads/load';
import { VideoSubmitter } from './loads/video-submitter';
import { GATEWAYS } from './parts';

const CALLERS = 6;
const KEY_MANAGERS = 2;
const BATCH_SUBMITTERS = 4;

/** Everyone who uses the installation during a storm. */
export function stormActors(tools: LoadTools): Actor[] {
  const several = <T>(count: number, make: (number: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => make(index + 1));
  return [
    ...several(CALLERS, (number) => new Caller(tools, number)),
    ...several(BATCH_SUBMITTERS, (number) => new BatchSubmitter(tools, number)),
    ...several(KEY_MANAGERS, (number) => new KeyManager(tools, number)),
    new VideoSubmitter(tools, 1),
    new Administrator(tools, 1),
  ];
}

const CALM_MODELS = {
  chat: 'storm/plain',
  responses: 'storm/responses',
  messages: 'storm/claude',
  embeddings: 'storm/embed',
};
const CALM_KEYS = 3;

/** One call of each kind at each gateway, and a few keys that are revoked: all of it must work at the first try. */
export async function makeCalmCalls(tools: LoadTools): Promise<void> {
  const { client, history, apiKey: key } = tools;
  for (const gateway of GATEWAYS) {
    for (const api of CALL_APIS) {
      for (const streamed of api === 'embeddings' ? [false] : [false, true]) {
        const marker = `calm-${gateway}-${api}-${streamed ? 'stream' : 'whole'}`;
        const prompt = `[[${marker}]] Is it over?`;
        await makeCall(client, history, {
          actor: 'calm',
          gateway,
          api,
          model: CALM_MODELS[api],
          streamed,
          prompt,
          marker,
          key,
        });
      }
    }
  }
  await new KeyManager(tools, 99).times(CALM_KEYS);
}
