import { randomBytes } from 'node:crypto';
import { FakeUpstream, type Behaviour } from '@libs/inference/testing';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { AppName, Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { answerChat } from './chat-upstream';
import { answerMessages } from './messages-upstream';
import { answerResponses } from './responses-upstream';
import { TOKENS, turnFor } from './spoken-turn';
import { sendJson } from './upstream-replies';

/** Models that converse, by the one API that their upstream speaks: each client crosses all of them. */
export const CONVERSING = ['clients/chat', 'clients/responses', 'clients/messages'] as const;
export const VECTORS = 'clients/vectors';
export const SPEECH = 'clients/speech';
/** In dollars per second. */
export const SPEECH_PRICE = '0.0001';
/** Its upstream limits the rate of every call. */
export const LIMITED = 'clients/limited';
export const RETRY_AFTER_SECONDS = 7;
export const PRICES = { prompt: '0.000002', completion: '0.000006' };
/** What one turn costs, in dollars. */
export const TURN_COST = (TOKENS.prompt * 2 + TOKENS.completion * 6) / 1e6;
export const VECTOR = [0.5, -0.25, 0.125, 1];

/** The other name of a model of this installation. */
export const aliasOf = (slug: string): string => `${slug.split('/')[1]}-by-itself`;

export interface ClientInstallation {
  readonly installation: Installation;
  readonly upstream: FakeUpstream;
  stop(): Promise<void>;
}

/** A started Sluice in front of one upstream that speaks every dialect. */
export async function startClientInstallation(
  environment: Readonly<Record<string, string>> = {},
  apps: readonly AppName[] = ['auth', 'gateway'],
): Promise<ClientInstallation> {
  const upstream = await FakeUpstream.start();
  upstream.behaviour = behave;
  try {
    const installation = await shareInstallation({ catalogue: catalogueAt(upstream), apps, environment });
    const stop = async (): Promise<void> => {
      await giveBack(installation);
      await upstream.close();
    };
    return { installation, upstream, stop };
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

/** Speech is sold by the second, and models differ in what their endpoints can do. */
function catalogueAt(upstream: FakeUpstream): string {
  const catalogue = JSON.parse(catalogueOf(modelsAt(upstream))) as {
    models: { slug: string; aliases: string[]; architecture: object; endpoints: Record<string, unknown>[] }[];
  };
  for (const model of catalogue.models) model.aliases = [aliasOf(model.slug)];
  const speech = catalogue.models.find(({ slug }) => slug === SPEECH)!;
  speech.architecture = { ...speech.architecture, input_modalities: ['audio'], output_modalities: ['transcription'] };
  Object.assign(speech.endpoints[0]!, {
    pricing: { audio_second: SPEECH_PRICE },
    capabilities: { transcription: { verbose_json: true } },
  });
  return JSON.stringify(catalogue);
}

function modelsAt({ origin }: FakeUpstream): TestModel[] {
  const model = (slug: string, provider: string, api: string, protocol = 'openai'): TestModel => ({
    slug,
    provider,
    protocol,
    baseUrl: `${origin}/${provider}/v1`,
    apis: [api],
    pricing: PRICES,
    batchPricing: PRICES,
  });
  return [
    model('clients/chat', 'plain', 'chat'),
    model('clients/responses', 'native', 'responses'),
    model('clients/messages', 'polite', 'messages', 'anthropic'),
    model(VECTORS, 'vectors', 'embeddings'),
    { ...model(SPEECH, 'speech', 'transcription'), batchPricing: undefined },
    // A name of its own: the gateway of a shared installation remembers until when a provider limits.
    { ...model(LIMITED, 'limited', 'chat'), provider: `limited-${randomBytes(4).toString('hex')}` },
  ];
}

/** What is said in every recording. */
export const TRANSCRIPT = {
  task: 'transcribe',
  language: 'english',
  duration: 2.5,
  text: 'Hello, world.',
  words: [
    { word: 'Hello', start: 0, end: 0.5 },
    { word: 'world', start: 0.6, end: 1 },
  ],
  segments: [
    {
      id: 0,
      seek: 0,
      start: 0,
      end: 2.5,
      text: ' Hello, world.',
      tokens: [50364, 2425],
      temperature: 0,
      avg_logprob: -0.3,
      compression_ratio: 1.2,
      no_speech_prob: 0.01,
    },
  ],
};

const behave: Behaviour = (response, request) => {
  const [, provider = '', , ...rest] = request.path.split('/');
  if (rest.join('/') === 'audio/transcriptions') return sendJson(response, 200, TRANSCRIPT);
  const body = JSON.parse(request.body) as { stream?: boolean; input?: unknown; encoding_format?: string };
  if (provider === 'limited') {
    const error = { message: 'Slow down', type: 'rate_limit_error', param: null, code: null };
    return sendJson(response, 429, { error }, { 'retry-after': String(RETRY_AFTER_SECONDS) });
  }
  const isStream = body.stream === true;
  switch (rest.join('/')) {
    case 'chat/completions':
      return answerChat(turnFor(request), isStream, response);
    case 'messages':
      return answerMessages(turnFor(request), isStream, response);
    case 'messages/count_tokens':
      return sendJson(response, 200, { input_tokens: TOKENS.prompt });
    case 'responses':
      return answerResponses(turnFor(request), isStream, response);
    case 'embeddings':
      return sendJson(response, 200, embeddingsOf(body));
    default:
      return sendJson(response, 404, { error: { message: 'No such path', type: 'invalid_request_error' } });
  }
};

/** Vectors of an input each, as text where the caller wants text: the bytes of little-endian floats. */
function embeddingsOf({ input, encoding_format: format }: { input?: unknown; encoding_format?: string }): object {
  const inputs = Array.isArray(input) ? input : [input];
  const embedding = format === 'base64' ? Buffer.from(new Float32Array(VECTOR).buffer).toString('base64') : VECTOR;
  return {
    object: 'list',
    model: 'theirs',
    data: inputs.map((_one, index) => ({ object: 'embedding', index, embedding })),
    usage: { prompt_tokens: TOKENS.prompt, total_tokens: TOKENS.prompt },
  };
}
