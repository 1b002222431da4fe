import type { StreamableApi } from '../dialects/dialect-pairs';
import type { EngineParts } from '../engine/engine';
import type { InferenceResult } from '../engine/inference-call';
import { readRouteFacts } from '../routing/route-facts';
import type { RoutingPreferences } from '../routing/route-plan';
import type { Endpoint } from '../catalogue/catalogue';
import { aModel, anEndpoint, aProvider } from './catalogue-fixture';
import { anEngine } from './engine-fixture';
import type { FakeUpstream } from './fake-upstream';

const CHAT = {
  id: 'chatcmpl-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5 },
};
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};
const ANSWERS = { chat: CHAT, messages: MESSAGE, responses: RESPONSE };

export interface Asked {
  /** The API of the caller, and the one that the endpoint speaks. */
  readonly api: StreamableApi;
  readonly spoken: StreamableApi;
  /** Of the body, in addition to the model. */
  readonly members: object;
  readonly betas?: string;
  readonly preferences?: RoutingPreferences;
  readonly parts?: Partial<EngineParts>;
  readonly endpoint?: Partial<Endpoint>;
}

/** Asks an endpoint of a real engine, which answers at once, and gives 16,000 output tokens unless it says otherwise. */
export async function askEndpoint(
  upstream: FakeUpstream,
  { api, spoken, members, betas, preferences, parts, endpoint }: Asked,
): Promise<InferenceResult> {
  upstream.answers(200, JSON.stringify(ANSWERS[spoken]));
  const protocol = spoken === 'messages' ? 'anthropic' : 'openai';
  const provider = aProvider({ baseUrl: upstream.baseUrl, apiKeyEnv: null, protocol });
  const model = aModel({ endpoints: [anEndpoint({ provider, apis: [spoken], ...endpoint })] });
  const { engine, http } = anEngine([model], parts);
  const body = { model: model.slug, ...members };
  try {
    return await engine.answer(api, {
      ...readRouteFacts(body),
      model: model.slug,
      generationId: 'gen-1-abc',
      body: Buffer.from(JSON.stringify(body)),
      parsed: body,
      signal: new AbortController().signal,
      betas,
      ...(preferences && { preferences }),
    });
  } finally {
    await http.close();
  }
}

/** Returns the body that the upstream was sent last. */
export function lastSent(upstream: FakeUpstream): Record<string, unknown> {
  return JSON.parse(upstream.requests.at(-1)!.body) as Record<string, unknown>;
}
