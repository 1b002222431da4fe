import { readStream, readWhole } from '../call-reader';
import type { CallApi, CallRecord, PlantedRefusal } from '../evidence';
import type { GatewayName } from '../parts';
import { codeOf, errorTypeIn, type StormClient } from '../storm-client';
import type { StormHistory } from '../history';
import type { LoadKey } from './load';

export interface CallPlan {
  readonly actor: string;
  readonly gateway: GatewayName;
  readonly api: CallApi;
  readonly model: string;
  readonly streamed: boolean;
  readonly prompt: string;
  readonly marker: string;
  readonly key: LoadKey;
  readonly mayBe?: readonly PlantedRefusal[];
  /** The caller leaves after so many events of a stream, or so many milliseconds; null stays. */
  readonly leavesAfterEvents?: number | null;
  readonly leavesAfterMs?: number | null;
}

const MAX_TOKENS = 16;
/** The API's own paths, below the base URL. */
const PATHS: Readonly<Record<CallApi, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  messages: '/messages',
  embeddings: '/embeddings',
};

function bodyOf({ api, model, streamed, prompt }: CallPlan): object {
  const messages = [{ role: 'user', content: prompt }];
  const stream = streamed && { stream: true };
  switch (api) {
    case 'chat':
      return { model, messages, max_tokens: MAX_TOKENS, ...stream };
    case 'messages':
      return { model, messages, max_tokens: MAX_TOKENS, ...stream };
    case 'responses':
      return { model, input: prompt, max_output_tokens: MAX_TOKENS, ...stream };
    case 'embeddings':
      return { model, input: prompt };
  }
}

/** Makes a call, reads its answer, and writes both into the history. Never throws. */
export async function makeCall(client: StormClient, history: StormHistory, plan: CallPlan): Promise<CallRecord> {
  const { actor, gateway, api, model, streamed, marker, prompt, key, mayBe = [] } = plan;
  const record: CallRecord = {
    actor,
    gateway,
    api,
    model,
    streamed,
    marker,
    prompt,
    mayBe,
    key: key.name,
    isCalm: history.isCalm,
    startMs: Date.now(),
    endMs: 0,
    status: null,
    error: null,
    generationId: null,
    requestId: null,
    ending: 'none',
    endings: 0,
    text: '',
    cost: null,
  };
  const leave = new AbortController();
  const timer = plan.leavesAfterMs == null ? undefined : setTimeout(() => leave.abort(), plan.leavesAfterMs);
  try {
    await readAnswer(client, plan, record, leave);
  } catch (error) {
    record.ending = leave.signal.aborted ? 'left' : record.status === null ? 'none' : 'broken';
    record.error ??= codeOf(error);
  }
  clearTimeout(timer);
  record.endMs = Date.now();
  history.addCall(record);
  return record;
}

async function readAnswer(
  client: StormClient,
  plan: CallPlan,
  record: CallRecord,
  leave: AbortController,
): Promise<void> {
  const { gateway, api, key } = plan;
  // The gateway stores the user agent with the generation, so the checker finds the call of each row.
  const headers = { 'user-agent': plan.marker };
  const ask = { gateway, key: key.key, method: 'POST', path: PATHS[api], body: bodyOf(plan), headers } as const;
  const answer = await client.open(ask, leave.signal);
  record.status = answer.statusCode;
  record.generationId = text(answer.headers['x-generation-id']);
  record.requestId = text(answer.headers['x-request-id']);
  const isStream = String(answer.headers['content-type']).includes('event-stream');
  if (isStream) {
    let events = 0;
    await readStream(record, answer.body, () => {
      events += 1;
      if (plan.leavesAfterEvents != null && events >= plan.leavesAfterEvents) leave.abort();
    });
    if (record.ending === 'none') record.ending = 'broken';
    return;
  }
  const body = await answer.body.text();
  if (answer.statusCode === 200) readWhole(record, body);
  else record.error = errorTypeIn(parsed(body));
  record.ending = 'whole';
}

const text = (header: string | string[] | undefined): string | null => (typeof header === 'string' ? header : null);

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
