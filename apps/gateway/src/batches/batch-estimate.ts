import {
  APIS,
  cachesUnasked,
  forEachConversationApi,
  highestPricesFor,
  isConversationApi,
  managedLanePrices,
  mayDropCap,
  mostPromptTokens,
  priceExpected,
  promptAt,
  promptTokensRead,
  uncappedTokens,
  usesAt,
  type CallableApi,
  type Endpoint,
  type ExpectedUse,
  type PicoUsd,
  type PromptKinds,
  type StreamableApi,
} from '@libs/inference';
import type { BatchLineDraft } from './batch-line';
import { ToolProfiles } from './tool-profiles';

/**
 * Bytes per token in an estimate. Text has nearly four bytes a token; three keep the reservation above the bill, so
 * that most batches need not extend it.
 */
const BYTES_PER_TOKEN = 3;

const PLAIN_TEXT: PromptKinds = { audioTokens: 0, imageTokens: 0, images: 0, imageTokensBy: {}, cacheWrite: null };

/** The output that lines ask for if their bodies are read by one API. */
interface AskedOutput {
  cappedTokens: number;
  /** Largest cap of one line, in tokens. */
  largestCap: number;
  uncappedAnswers: number;
  /** Number of capped answers with thinking. For these, some providers are sent no cap. */
  thinkingAnswers: number;
}

/** Lines with nearly the same number of prompt tokens, the same cache write and the same tool uses. */
interface SizeClass {
  readonly mostTokens: number;
  /** Number of their tool profile. */
  readonly tools: number;
  readonly cacheWrite: PromptKinds['cacheWrite'];
  lines: number;
  answers: number;
  promptTokens: number;
  audioTokens: number;
  imageTokens: number;
  images: number;
  /** `imageTokens` as counted by each model family. */
  readonly imageTokensBy: Record<string, number>;
  readonly output: Readonly<Record<StreamableApi, AskedOutput>>;
}

/**
 * The most that a batch will cost according to its lines. Collected while they arrive and priced when the endpoint is
 * known. Needs constant memory for any number of lines. They are added up by size (long prompts may have other rates),
 * by their cache writes, and by the tool uses that they may make.
 */
export class BatchEstimate {
  private readonly classes = new Map<string, SizeClass>();
  private readonly tools = new ToolProfiles();

  add(line: BatchLineDraft): void {
    const { tokens, kinds } = line.prompt;
    // Symbols, numbers and rare scripts have more than one token per three bytes.
    const promptTokens = Math.max(Math.ceil(line.body.length / BYTES_PER_TOKEN), tokens);
    const { cacheWrite, audioTokens, imageTokens, images, imageTokensBy = {} } = kinds ?? PLAIN_TEXT;
    const size = this.classOf(boundOf(promptTokens), cacheWrite, this.tools.numberOf(line.toolUses));
    size.lines += 1;
    size.answers += line.choices;
    size.promptTokens += promptTokens;
    size.audioTokens += audioTokens;
    size.imageTokens += imageTokens;
    size.images += images;
    for (const [family, counted] of Object.entries(imageTokensBy)) {
      size.imageTokensBy[family] = (size.imageTokensBy[family] ?? 0) + counted;
    }
    forEachConversationApi(({ name }) => addOutput(size.output[name], line, line.maxOutputTokens[name]));
  }

  /** Returns pico-dollars. Embeddings generate no tokens. */
  costAt(endpoint: Endpoint, api: CallableApi): PicoUsd {
    const prices = managedLanePrices(endpoint.provider) === 'batch' ? endpoint.batchPricing : endpoint.pricing;
    let sum = 0n;
    for (const size of this.classes.values()) {
      const use = this.useOf(size, endpoint, api);
      const longest = { ...use, ...longestOf(size, endpoint, api), calls: 1 };
      sum += priceExpected(highestPricesFor(prices, 0, promptTokensRead(longest)), use);
    }
    return sum;
  }

  private useOf(size: SizeClass, endpoint: Endpoint, api: CallableApi): ExpectedUse {
    const generates = isConversationApi(api);
    const asked = generates ? this.tools.usesOf(size.tools)?.[api] : undefined;
    const { tokens: promptTokens, kinds } = promptAt(endpoint, { tokens: size.promptTokens, kinds: size });
    return {
      promptTokens,
      kinds,
      cachesUnasked: cachesUnasked(endpoint),
      completionTokens: generates ? outputTokens(size, endpoint, api) : 0,
      answers: generates ? size.answers : 0,
      calls: size.lines,
      tools: usesAt(endpoint, api, asked ?? []),
      contextLength: endpoint.contextLength,
    };
  }

  private classOf(mostTokens: number, cacheWrite: PromptKinds['cacheWrite'], tools: number): SizeClass {
    const key = `${mostTokens} ${cacheWrite} ${tools}`;
    const known = this.classes.get(key);
    if (known !== undefined) return known;
    const output = forEachConversationApi(noOutput);
    const counts = { lines: 0, answers: 0, promptTokens: 0, audioTokens: 0, imageTokens: 0, images: 0 };
    const size = { mostTokens, cacheWrite, tools, ...counts, imageTokensBy: {}, output };
    this.classes.set(key, size);
    return size;
  }
}

const noOutput = (): AskedOutput => ({ cappedTokens: 0, largestCap: 0, uncappedAnswers: 0, thinkingAnswers: 0 });

function addOutput(output: AskedOutput, { choices, asksToThink }: BatchLineDraft, cap: number | null): void {
  if (cap === null) output.uncappedAnswers += choices;
  else output.cappedTokens += cap;
  output.largestCap = Math.max(output.largestCap, cap ?? 0);
  if (cap !== null && asksToThink) output.thinkingAnswers += choices;
}

function outputTokens({ output }: SizeClass, endpoint: Endpoint, api: StreamableApi): number {
  const { cappedTokens, uncappedAnswers, thinkingAnswers } = output[api];
  const dropped = mayDropCap(endpoint) ? thinkingAnswers * uncappedTokens(endpoint) : 0;
  return cappedTokens + uncappedAnswers * APIS[api].uncappedTokensAt(endpoint) + dropped;
}

/** Most tokens of one of these lines. Decides which rates for long prompts may apply. */
function longestOf(
  { mostTokens, output }: SizeClass,
  endpoint: Endpoint,
  api: CallableApi,
): Pick<ExpectedUse, 'promptTokens' | 'completionTokens'> {
  const promptTokens = mostPromptTokens(mostTokens);
  if (!isConversationApi(api)) return { promptTokens, completionTokens: 0 };
  const { largestCap, uncappedAnswers } = output[api];
  const uncapped = uncappedAnswers === 0 ? 0 : APIS[api].uncappedTokensAt(endpoint);
  return { promptTokens, completionTokens: Math.max(largestCap, uncapped) };
}

/** Leading bits of a number that are kept. Numbers in the same class differ by less than an eighth. */
const LEADING_BITS = 4;

/** Returns the largest number with the same length and the same leading bits as a whole number. */
function boundOf(count: number): number {
  const step = 2 ** Math.max(0, 32 - Math.clz32(count) - LEADING_BITS);
  return (Math.floor(count / step) + 1) * step - 1;
}
