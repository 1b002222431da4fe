import { CALL_APIS, type CallApi } from '../evidence';
import { REFUSED_WORDS } from '../storm-upstream';
import { makeCall } from './call';
import { Actor, type LoadTools } from './load';

const MODELS: Readonly<Record<CallApi, readonly string[]>> = {
  chat: ['storm/plain', 'storm/plain', 'storm/own', 'storm/claude'],
  responses: ['storm/responses', 'storm/plain'],
  messages: ['storm/claude', 'storm/plain'],
  embeddings: ['storm/embed'],
};

/** A program that makes one call after another, of every API, streamed and not, and sometimes leaves early. */
export class Caller extends Actor {
  constructor(tools: LoadTools, number: number) {
    super(tools, `caller-${number}`, [10, 250]);
  }

  protected override async step(number: number): Promise<void> {
    const { random, tools } = this;
    const api = random.pick(CALL_APIS);
    const streamed = api !== 'embeddings' && random.chance(0.6);
    const leaves = random.weighted({ no: 85, events: 8, time: 7 });
    const isRefused = random.chance(0.03);
    const marker = `${this.name}-${number}`;
    const padding = 'word '.repeat(random.int(1, 60));
    await makeCall(tools.client, tools.history, {
      actor: this.name,
      gateway: this.gateway(),
      api,
      model: random.pick(MODELS[api]),
      streamed,
      marker,
      prompt: `[[${marker}]] ${padding}${isRefused ? REFUSED_WORDS : 'please'}.`,
      key: tools.apiKey,
      mayBe: isRefused ? ['bad-request'] : [],
      leavesAfterEvents: leaves === 'events' ? random.int(1, 6) : null,
      leavesAfterMs: leaves === 'time' ? random.int(0, 150) : null,
    });
  }
}
