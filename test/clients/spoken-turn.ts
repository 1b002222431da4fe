import type { ReceivedRequest } from '@libs/inference/testing';

/** What the model of these tests says next, in no dialect. */
export type SpokenTurn =
  | { readonly kind: 'text'; readonly pieces: readonly string[]; readonly ending: Ending }
  | { readonly kind: 'calls'; readonly calls: readonly SpokenCall[] };

/** How a stream goes on after its pieces: to its end, not at all, or the connection is cut. */
type Ending = 'whole' | 'endless' | 'cut';

export interface SpokenCall {
  readonly id: string;
  readonly name: string;
  /** The JSON of the arguments, as it is streamed. */
  readonly pieces: readonly string[];
}

/** What every upstream of these tests counts. */
export const TOKENS = { prompt: 21, completion: 13 };

export const GREETING = 'Hello there, caller!';
export const FORECAST = '18 degrees and rain';
/** What a shell says to the command of `PROMPTS.shell`. */
export const PRODUCT = 'the-product-is-42';
export const REPORT = { city: 'Paris', degrees: 18 };

/** Prompts, by what they bring about. */
export const PROMPTS = {
  greet: 'Say hello, please.',
  weather: 'What is the weather in Paris?',
  report: 'Report the weather of Paris as JSON.',
  endless: 'Count for ever.',
  broken: 'Count until you break.',
  shell: 'Multiply six by seven in a shell.',
} as const;

/**
 * The turn that answers a request: decided by the texts in it, so that what does not reach the upstream does
 * not come back. A tool is called until its result is in the request, and an answer quotes the result.
 */
export function turnFor({ body }: ReceivedRequest): SpokenTurn {
  if (body.includes(PROMPTS.endless)) return text(['one ', 'two '], 'endless');
  if (body.includes(PROMPTS.broken)) return text(['one ', 'two '], 'cut');
  if (body.includes(PROMPTS.shell)) return shellTurn(body);
  if (body.includes(PROMPTS.report)) return text(JSON.stringify(REPORT).split(/(?<=,)/));
  if (!body.includes(PROMPTS.weather)) return text(GREETING.split(/(?<= )/));
  if (body.includes(FORECAST)) return text(['It is ', FORECAST, '.']);
  if (!body.includes('get_weather')) throw new Error('the tool did not reach the upstream');
  return { kind: 'calls', calls: [{ id: 'call_Weather1', name: 'get_weather', pieces: ['{"city":', '"Paris"}'] }] };
}

/** Shells of coding agents, and how each takes a command. */
const SHELLS: Readonly<Record<string, (command: string) => object>> = {
  exec_command: (cmd) => ({ cmd }),
  shell_command: (command) => ({ command }),
  shell: (command) => ({ command: ['sh', '-c', command] }),
  Bash: (command) => ({ command, description: 'Multiplies' }),
  bash: (command) => ({ command, description: 'Multiplies' }),
};

/** A request without a shell is one about a title or the like. */
function shellTurn(body: string): SpokenTurn {
  if (body.includes(PRODUCT)) return text(['The shell says ', PRODUCT, '.']);
  const name = Object.keys(SHELLS).find((shell) => body.includes(`"name":"${shell}"`));
  if (name === undefined) return text(GREETING.split(/(?<= )/));
  const args = JSON.stringify(SHELLS[name]!('echo the-product-is-$((6*7))'));
  return { kind: 'calls', calls: [{ id: 'call_Shell1', name, pieces: [args.slice(0, 8), args.slice(8)] }] };
}

function text(pieces: readonly string[], ending: Ending = 'whole'): SpokenTurn {
  return { kind: 'text', pieces, ending };
}
