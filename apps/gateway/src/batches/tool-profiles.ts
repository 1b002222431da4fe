import { forEachConversationApi, type AllowedUses } from '@libs/inference';
import type { UsesByApi } from './batch-line';

/** Limits for the number and size of distinct profiles, so that invented tool names and caps cannot fill the memory. */
const MOST_PROFILES = 64;
const MOST_CHARACTERS = 8_192;

/**
 * The tool uses that the lines of a batch may make, each combination once. If there are too many combinations, all
 * further lines count as one that uses the most expensive tool, as often and with results as large as any of them.
 */
export class ToolProfiles {
  private readonly profiles: (UsesByApi | null)[] = [null];
  private readonly numbers = new Map<string, number>();
  private others: UsesByApi | null = null;

  /** Returns the number of a line's profile; 0 if it asks for no tools. */
  numberOf(uses: UsesByApi | null): number {
    if (uses === null) return 0;
    const text = JSON.stringify(uses);
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    if (this.profiles.length < MOST_PROFILES && text.length <= MOST_CHARACTERS) {
      this.numbers.set(text, this.profiles.length);
      return this.profiles.push(uses) - 1;
    }
    this.others = this.others === null ? mostOf(uses, uses) : mostOf(this.others, uses);
    return MOST_PROFILES;
  }

  /** Returns the uses of a profile; null if it has none. */
  usesOf(number: number): UsesByApi | null {
    return number === MOST_PROFILES ? this.others : this.profiles[number]!;
  }
}

function mostOf(one: UsesByApi, other: UsesByApi): UsesByApi {
  return forEachConversationApi(({ name }) => [mostUses(one[name], other[name])]);
}

function mostUses(one: readonly AllowedUses[], other: readonly AllowedUses[]): AllowedUses {
  const [mine, its] = [inOne(one), inOne(other)];
  return {
    tools: null,
    uses: Math.max(mine.uses, its.uses),
    turns: Math.max(mine.turns, its.turns),
    tokensPerUse: Math.max(mine.tokensPerUse, its.tokensPerUse),
    tokensWritten: Math.max(mine.tokensWritten, its.tokensWritten),
  };
}

function inOne(all: readonly AllowedUses[]): Required<Omit<AllowedUses, 'tools' | 'leastContext'>> {
  const sum = (name: 'uses' | 'turns'): number => all.reduce((total, one) => total + one[name], 0);
  const most = (name: 'tokensPerUse' | 'tokensWritten'): number =>
    all.reduce((largest, one) => Math.max(largest, one[name] ?? 0), 0);
  return {
    uses: sum('uses'),
    turns: sum('turns'),
    tokensPerUse: most('tokensPerUse'),
    tokensWritten: most('tokensWritten'),
  };
}
