import { createProviderAdapters, InferenceEngine, readRouteFacts, type ProviderAdapter } from '@libs/inference';
import { AppError } from '@libs/errors';
import { aModel, anEndpoint, anEngine, aProvider } from '@libs/inference/testing';
import type { JsonRecord } from './any-value';

export type CallerApi = 'chat' | 'responses' | 'messages';

/** An endpoint: the protocol of its provider, and the API or dialect in which it is asked. */
export type Spoken = CallerApi | 'google' | 'bedrock' | 'cohere' | 'mistral';

export const SPOKEN: readonly Spoken[] = ['chat', 'responses', 'messages', 'google', 'bedrock', 'cohere', 'mistral'];

const COUNTS = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const CHAT = {
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: COUNTS,
};
const ANSWERS: Readonly<Record<Spoken, object>> = {
  chat: CHAT,
  mistral: CHAT,
  responses: {
    id: 'r',
    object: 'response',
    status: 'completed',
    output: [],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
  messages: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  google: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  },
  bedrock: {
    output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  },
  cohere: {
    id: 'co',
    finish_reason: 'COMPLETE',
    message: { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
    usage: { tokens: { input_tokens: 1, output_tokens: 1 } },
  },
};

const PROTOCOLS: Readonly<Partial<Record<Spoken, string>>> = {
  chat: 'openai',
  responses: 'openai',
  messages: 'anthropic',
};

/** What became of a request: the body that the provider was sent and what was named as lost, or why it was refused. */
export type Fate = { readonly sent: string; readonly lost: readonly string[] } | { readonly refused: string };

export type Send = (body: JsonRecord) => Promise<Fate>;

/** A real engine with one endpoint, whose adapter keeps what it is given and answers at once. */
export function auditedEndpoint(api: CallerApi, spoken: Spoken): Send {
  let sent = '';
  const take = async ({ body }: { readonly body: Buffer }): Promise<{ status: number; body: Buffer }> => {
    sent = body.toString();
    return { status: 200, body: Buffer.from(JSON.stringify(ANSWERS[spoken])) };
  };
  const { engine, model } = engineFor(spoken, take);
  return async (members) => {
    sent = '';
    const body = { ...members, model };
    try {
      const { losses } = await engine.answer(api, {
        ...readRouteFacts(body),
        model,
        generationId: 'gen-1-abc',
        body: Buffer.from(JSON.stringify(body)),
        parsed: body,
        signal: new AbortController().signal,
      });
      return { sent, lost: [...losses.dropped, ...losses.approximated] };
    } catch (thrown) {
      if (thrown instanceof AppError) return { refused: `${thrown.code}: ${thrown.message}` };
      throw thrown;
    }
  };
}

function engineFor(spoken: Spoken, take: ProviderAdapter['chat'] & object): { engine: InferenceEngine; model: string } {
  const protocol = PROTOCOLS[spoken] ?? spoken;
  const api = spoken === 'responses' || spoken === 'messages' ? spoken : 'chat';
  const provider = aProvider({ apiKeyEnv: null, protocol });
  const model = aModel({
    architecture: {
      inputModalities: ['text', 'image', 'file', 'audio', 'video'],
      outputModalities: ['text', 'image', 'audio'],
      tokenizer: 'Other',
      instructType: null,
    },
    endpoints: [anEndpoint({ provider, apis: [api] })],
  });
  const real = createProviderAdapters({} as never).get(protocol)!;
  const adapter: ProviderAdapter = Object.assign(Object.create(real) as ProviderAdapter, {
    chat: real.chat && take,
    responses: real.responses && take,
    messages: real.messages && take,
    converse: real.converse && take,
  });
  const { engine } = anEngine([model], { adapters: new Map([[protocol, adapter]]) });
  return { engine, model: model.slug };
}
