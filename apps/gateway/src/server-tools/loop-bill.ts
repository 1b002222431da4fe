import {
  emptyUsage,
  sumCosts,
  totalOf,
  type Bill,
  type Cost,
  type StreamOutcome,
  type ToolBill,
  type Usage,
} from '@libs/inference';
import type { AskedCall, GenerationSearch } from '@libs/persistence';
import { askedCallOf, type AnsweredQuestion } from '../generations/asked-call';
import { ownKeyCostOf, sumOwnKeyCosts, type OwnKeyCost } from '../generations/own-key-cost';
import type { ToolOutcome } from './server-tool';
import { joinSearches } from './web-search';

type Provenance = Usage['provenance'];

/** From the most to the least reliable. The provenance of a sum is that of its least reliable part. */
const BEST_FIRST: readonly Provenance[] = ['upstream', 'estimated', 'partial'];

/** Adds up the usage of all turns and tools of one answer. */
export class LoopBill {
  #usage: Usage = emptyUsage('upstream');
  #cost: Cost = { totalCost: 0n, promptCost: 0n, completionCost: 0n };
  #tools: ToolBill = { requested: 0, executed: 0, webSearches: 0, webFetches: 0, cost: 0n };
  /** Cost of tools that used a key of the caller's own; their fees are part of the tools' cost. */
  #ownKey: OwnKeyCost | undefined;
  #search: GenerationSearch | undefined;
  readonly #uses = new Map<string, number>();
  readonly #asked: AskedCall[] = [];
  readonly #turns: AskedCall[] = [];
  /** The endpoints of turns on the operator's key, and whether any turn ran on the caller's own. */
  readonly #places = new Set<AnsweredQuestion['endpoint'] | 'own key'>();

  addTurn(turn: AnsweredQuestion): void {
    const { endpoint, credential, usage, cost } = turn;
    this.#usage = sumOf(this.#usage, usage);
    this.#cost = sumCosts(this.#cost, cost);
    this.#places.add(credential ? 'own key' : endpoint);
    const record = askedCallOf(turn);
    if (record !== null) this.#turns.push(record);
  }

  addRequested(): void {
    this.#tools = { ...this.#tools, requested: this.#tools.requested + 1 };
  }

  /** Adds a use of a tool. A search that was refused or failed does not count and is not charged. */
  addUse(tool: string, outcome: ToolOutcome): void {
    const { isError, search } = outcome;
    this.#search = joinSearches(this.#search, search);
    this.addLateCost(outcome);
    const { executed, webSearches, webFetches } = this.#tools;
    this.#uses.set(tool, (this.#uses.get(tool) ?? 0) + 1);
    this.#tools = {
      ...this.#tools,
      executed: executed + 1,
      webSearches: webSearches + Number(tool === 'web_search' && !isError),
      webFetches: webFetches + Number(tool === 'web_fetch'),
    };
  }

  /** Adds the cost of a use that was counted before its end. */
  addLateCost({ costPicoUsd, ownKey, asked }: Pick<ToolOutcome, 'costPicoUsd' | 'ownKey' | 'asked'>): void {
    if (asked) this.#asked.push(asked);
    this.#tools = { ...this.#tools, cost: this.#tools.cost + costPicoUsd };
    this.#ownKey = sumOwnKeyCosts(this.#ownKey, ownKey);
  }

  /** How often each tool ran. */
  get uses(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#uses);
  }

  /** The models that tools asked, to record; undefined if none was asked. */
  get asked(): readonly AskedCall[] | undefined {
    return this.#asked.length === 0 ? undefined : this.#asked;
  }

  /** The turns on the operator's key, to record; undefined if the endpoint and the key of the last turn say enough. */
  get turns(): readonly AskedCall[] | undefined {
    return this.#places.size > 1 ? this.#turns : undefined;
  }

  /** The search to record; undefined if none was made. */
  get search(): GenerationSearch | undefined {
    return this.#search;
  }

  get bill(): Required<Bill> {
    return { usage: this.#usage, cost: this.#cost, tools: this.#tools };
  }

  /** Returns the bill to record: one cost that includes the tools. */
  get charge(): Pick<StreamOutcome, 'usage' | 'cost'> {
    const own = sumOwnKeyCosts(ownKeyCostOf(this.#cost), this.#ownKey);
    return { usage: this.#usage, cost: { ...this.#cost, totalCost: totalOf(this.bill), ...own } };
  }
}

function sumOf(one: Usage, other: Usage): Usage {
  const rank = Math.max(BEST_FIRST.indexOf(one.provenance), BEST_FIRST.indexOf(other.provenance));
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    audioPromptTokens: one.audioPromptTokens + other.audioPromptTokens,
    audioCompletionTokens: one.audioCompletionTokens + other.audioCompletionTokens,
    ...mediaOf(one, other),
    provenance: BEST_FIRST[rank] ?? 'partial',
  };
}

const MEDIA = ['videoPromptTokens', 'filePromptTokens', 'imageCompletionTokens'] as const;

/** Counts that not every turn has. */
function mediaOf(one: Usage, other: Usage): Partial<Usage> {
  const known = MEDIA.filter((name) => one[name] !== undefined || other[name] !== undefined);
  return Object.fromEntries(known.map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
}
