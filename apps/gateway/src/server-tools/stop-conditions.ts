import { parseUsd, type FinishReason, type PicoUsd } from '@libs/inference';
import { listOf, type Fields } from './named-tools';

/** State of a loop after one of its turns. */
export interface LoopProgress {
  /** Number of turns in which the model used tools of the gateway. */
  readonly steps: number;
  /** The tools and functions that the model called in the last turn, by all of their names. */
  readonly called: ReadonlySet<string>;
  /** Tokens of all turns, input and output. */
  readonly totalTokens: number;
  readonly cost: PicoUsd;
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
}

/** Ends the use of tools. */
export interface StopCondition {
  readonly name: string;
  isMet(progress: LoopProgress): boolean;
}

/** Steps if the request sets none; also the highest accepted `max_tool_calls`. */
const DEFAULT_STEPS = 30;
/** Most steps of a request whose conditions are never met. */
const MOST_STEPS = 100;

/**
 * Returns the conditions that end the use of tools. Conditions in the request replace `max_tool_calls`. `body` is
 * validated.
 */
export function readStopConditions(body: Fields): readonly StopCondition[] {
  const { stop_server_tools_when: conditions, max_tool_calls: most } = body;
  if (!Array.isArray(conditions)) return [stepCount('max_tool_calls', typeof most === 'number' ? most : DEFAULT_STEPS)];
  return [...listOf(conditions).map(readCondition), stepCount('step_limit', MOST_STEPS)];
}

/** Returns the condition that ends the loop now, or null. */
export function metCondition(conditions: readonly StopCondition[], progress: LoopProgress): StopCondition | null {
  return conditions.find((condition) => condition.isMet(progress)) ?? null;
}

function readCondition(condition: Fields): StopCondition {
  const name = String(condition['type']);
  switch (name) {
    case 'has_tool_call': {
      const wanted = String(condition['tool_name']);
      return { name, isMet: ({ called }) => called.has(wanted) };
    }
    case 'max_tokens_used': {
      const most = Number(condition['max_tokens']);
      return { name, isMet: ({ totalTokens }) => totalTokens >= most };
    }
    case 'max_cost': {
      const most = picoUsdOf(Number(condition['max_cost_in_dollars']));
      return { name, isMet: ({ cost }) => cost >= most };
    }
    case 'finish_reason_is': {
      const wanted = condition['reason'];
      return {
        name,
        isMet: ({ finishReason, nativeFinishReason }) => finishReason === wanted || nativeFinishReason === wanted,
      };
    }
    default:
      return stepCount(name, Number(condition['step_count']));
  }
}

function stepCount(name: string, most: number): StopCondition {
  return { name, isMet: ({ steps }) => steps >= most };
}

/** Returns the amount of a JSON number, rounded to a pico-dollar. */
function picoUsdOf(dollars: number): PicoUsd {
  return parseUsd(dollars.toFixed(12));
}
