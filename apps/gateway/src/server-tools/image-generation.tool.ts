import { AppError } from '@libs/errors';
import {
  callCancelled,
  estimatePromptTokens,
  leftCallOf,
  type InferenceEngine,
  type InferenceResult,
} from '@libs/inference';
import { askedCallOf, type AnsweredQuestion } from '../generations/asked-call';
import { ownKeyCostOf } from '../generations/own-key-cost';
import { bytesForMedium } from '../http/fetched-bytes';
import { ownQuestion } from '../routing/own-question';
import { fieldsOf, listOf, refusal, type Fields } from './named-tools';
import {
  failedUse,
  type BoundTool,
  type ServerTool,
  type ToolContext,
  type ToolOutcome,
  type ToolSurroundings,
} from './server-tool';

/** Pictures take their time. */
const TIMEOUT_MS = 300_000;
const MOST_PROMPT_CHARACTERS = 32_000;
/** Most bytes of settings as JSON, because they are sent with each picture. */
const MOST_SETTINGS_BYTES = 16 * 1_024;
const DATA_URL = /^data:[^,]{0,200};base64,/;

export interface ImageGenerationParts {
  readonly engine: Pick<InferenceEngine, 'answer'>;
  /** Slugs of the models that make pictures, in the order of the catalogue. */
  readonly imageModels: () => readonly string[];
  /** Token limit of the model's answer, so that no use costs more than was reserved. */
  readonly mostTokens: (model: string) => number;
  /** Returns the most that a picture by a model may cost with this prompt and `mostTokens`, in pico-dollars. */
  readonly picturePicoUsd: (model: string, promptTokens: number) => bigint;
}

/** The settings that all pictures of one request share. */
interface PictureSetup {
  readonly model: string;
  /** The `image_config` as JSON; null if there are no settings. */
  readonly settings: string | null;
}

/**
 * `<service>:image_generation`: makes a picture with a model of this service. The model is the one in `model`, else the
 * workspace's default, else the first in the catalogue. All other settings are sent as `image_config`.
 */
export class ImageGenerationTool implements ServerTool {
  readonly name = 'image_generation';

  constructor(private readonly parts: ImageGenerationParts) {}

  bind({ model, ...settings }: Fields, path: string, surroundings?: ToolSurroundings): BoundTool {
    const models = this.parts.imageModels();
    const slug = model ?? surroundings?.imageModel ?? models[0];
    if (slug === undefined) throw refusal(path, 'cannot be served: no model of this service makes pictures');
    if (typeof slug !== 'string' || !models.includes(slug)) {
      throw refusal(`${path}.model`, 'must name a model of this service that makes pictures');
    }
    const setup: PictureSetup = { model: slug, settings: writeSettings(settings, path) };
    const settingsTokens = setup.settings === null ? 0 : estimatePromptTokens(Buffer.from(setup.settings));
    return {
      definition: {
        name: this.name,
        description: 'Makes a picture, which the user is shown at once.',
        parameters: {
          type: 'object',
          properties: { prompt: { type: 'string', description: 'What the picture shows, in full sentences' } },
          required: ['prompt'],
          additionalProperties: false,
        },
      },
      mostPicoUsd: (args) => {
        const prompt = readPrompt(args);
        if (prompt === null) return 0n;
        const tokens = estimatePromptTokens(bytesOf(this.#request(slug, prompt), null));
        return this.parts.picturePicoUsd(slug, tokens + settingsTokens);
      },
      timeoutMs: TIMEOUT_MS,
      run: (args, context) => this.#paint(setup, readPrompt(args), context),
    };
  }

  async #paint(setup: PictureSetup, prompt: string | null, context: ToolContext): Promise<ToolOutcome> {
    if (prompt === null) {
      return failedUse(`The prompt must be text of 1 to ${MOST_PROMPT_CHARACTERS} characters.`);
    }
    try {
      return await kept(prompt, outcomeOf(prompt, await this.#ask(setup, prompt, context)), context);
    } catch (thrown) {
      const left = leftCallOf(thrown);
      if (left !== null) return { ...failedUse('The picture was not waited for.', { prompt }), ...chargeOf(left) };
      if (context.signal.aborted) throw callCancelled();
      return failedUse(`The picture could not be made: ${AppError.from(thrown).message}.`, { prompt });
    }
  }

  #request(model: string, prompt: string) {
    return {
      model,
      messages: [{ role: 'user', content: prompt }],
      modalities: ['image', 'text'],
      max_tokens: this.parts.mostTokens(model),
    };
  }

  #ask({ model, settings }: PictureSetup, prompt: string, context: ToolContext): Promise<InferenceResult> {
    const request = this.#request(model, prompt);
    const body = bytesOf(request, settings);
    return this.parts.engine.answer('chat', {
      ...ownQuestion(request, body, context.caller),
      generationId: context.generationId,
      // The provider continues with the picture after the caller has disconnected, and charges for it.
      signal: context.cancellation,
      ...(context.preferences && { preferences: context.preferences }),
    });
  }
}

/** @throws AppError invalid_request for more than fits */
function writeSettings(settings: Fields, path: string): string | null {
  if (Object.keys(settings).length === 0) return null;
  const written = JSON.stringify(settings);
  if (Buffer.byteLength(written) <= MOST_SETTINGS_BYTES) return written;
  throw refusal(path, `must have at most ${MOST_SETTINGS_BYTES} bytes of settings as JSON, beside model`);
}

/** Appends the settings, which are already JSON, to the request. */
function bytesOf(request: object, settings: string | null): Buffer {
  const written = JSON.stringify(request);
  return Buffer.from(settings === null ? written : `${written.slice(0, -1)},"image_config":${settings}}`);
}

/** Pictures are part of the answer, so their memory is reserved. */
async function kept(prompt: string, outcome: ToolOutcome, { memory }: ToolContext): Promise<ToolOutcome> {
  const { images = [], costPicoUsd, ownKey, asked } = outcome;
  try {
    await memory.add(bytesForMedium(images.reduce((sum, { length }) => sum + length, 0)));
    return outcome;
  } catch (error) {
    const reason = `The picture cannot be shown: ${AppError.from(error).message}.`;
    return { ...failedUse(reason, { prompt }, costPicoUsd), ...(ownKey && { ownKey }), ...(asked && { asked }) };
  }
}

/** Returns the prompt; null for one that is refused. */
function readPrompt(args: unknown): string | null {
  const { prompt } = fieldsOf(args);
  const isFit = typeof prompt === 'string' && prompt !== '' && prompt.length <= MOST_PROMPT_CHARACTERS;
  return isFit ? prompt : null;
}

function outcomeOf(prompt: string, result: InferenceResult): ToolOutcome {
  const answer = JSON.parse(result.body.toString()) as Fields;
  const message = fieldsOf(listOf(answer['choices'])[0]?.['message']);
  const urls = listOf(message['images']).flatMap(({ image_url: link }) => fieldsOf(link)['url'] ?? []);
  const [url] = urls;
  if (typeof url !== 'string') return { ...failedUse('The model made no picture.', { prompt }), ...chargeOf(result) };
  const base64 = DATA_URL.test(url) ? url.replace(DATA_URL, '') : null;
  const said = message['content'];
  return {
    parts: [{ type: 'text', text: 'The picture has been made, and the user sees it.' }],
    isError: false,
    item: {
      prompt,
      ...(base64 === null ? { imageUrl: url, result: null } : { imageB64: base64, result: base64 }),
      ...(typeof said === 'string' && said !== '' && { revisedPrompt: said }),
    },
    images: urls.filter((one) => typeof one === 'string'),
    ...chargeOf(result),
  };
}

/** Returns what a picture costs, and the record of its call; on a key of the caller's own, upstream cost and fee. */
function chargeOf(call: AnsweredQuestion): Pick<ToolOutcome, 'costPicoUsd' | 'ownKey' | 'asked'> {
  const ownKey = ownKeyCostOf(call.cost);
  const asked = askedCallOf(call);
  return { costPicoUsd: call.cost.totalCost, ...(ownKey && { ownKey }), ...(asked && { asked }) };
}
