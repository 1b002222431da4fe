import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProviderScript } from '../support/provider-scripts';

/** What a provider knows of a call. */
export interface FaultyCall {
  readonly script: ProviderScript;
  /** Until the caller has read what it can read so far. */
  readonly untilHeard: () => Promise<void>;
}

/** How a provider treats one call. */
export type Fault = (response: ServerResponse, call: FaultyCall) => void;

export interface FaultEntry {
  /** Absent: the provider cannot do this to such a call. */
  readonly whole?: Fault;
  readonly stream?: Fault;
  /** Nobody listens at the provider's address. */
  readonly isRefused?: true;
  /** The caller goes: at once, or after the first words. */
  readonly leaves?: 'at once' | 'after words';
  /** It takes until a timer of the gateway runs out. */
  readonly isSlow?: true;
}

/** So that pieces are seldom read at once; where that would matter, the caller is waited for. */
const BETWEEN_PIECES_MS = 30;
/** What a caller takes to go when the machine is busy; below `LEFTOVER_MS` of the matrix. */
const AFTER_LEAVING_MS = 250;

const json = (response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);

type Step = (response: ServerResponse) => void;

const hangUp: Step = (response) => void response.destroy();
const fallSilent: Step = () => undefined;
const finish: Step = (response) => void response.end();

function begin(response: ServerResponse, type: string): void {
  response.writeHead(200, { 'content-type': type }).flushHeaders();
}

type Piece = keyof ProviderScript['stream'] | 'until heard';

/** Sends pieces one by one, and then does something else. */
async function send(
  response: ServerResponse,
  { script, untilHeard }: FaultyCall,
  pieces: readonly Piece[],
  last: Step,
): Promise<void> {
  begin(response, 'text/event-stream');
  for (const piece of pieces) {
    if (piece === 'until heard') await untilHeard();
    else response.write(script.stream[piece]);
    await delay(BETWEEN_PIECES_MS);
    if (response.destroyed) return;
  }
  last(response);
}

const streams =
  (pieces: readonly Piece[], last: Step = finish): Fault =>
  (response, call) =>
    void send(response, call, pieces, last);

const refuses =
  (status: number, headers: Record<string, string> = {}): Fault =>
  (response, { script }) =>
    json(response, status, script.error, headers);

/** Half of a whole answer, and then something else. */
const half =
  (last: Step): Fault =>
  (response, { script }) => {
    begin(response, 'application/json');
    response.write(script.answer.slice(0, script.answer.length / 2));
    setTimeout(last, BETWEEN_PIECES_MS, response);
  };

/** Says the rest when its caller must have gone. */
const goesOn: Fault = (response, call) => {
  const { moreWords, end } = call.script.stream;
  void send(response, call, SPEAKING, () => setTimeout(() => response.end(moreWords + end), AFTER_LEAVING_MS));
};

const both = (fault: Fault): Pick<FaultEntry, 'whole' | 'stream'> => ({ whole: fault, stream: fault });
const SPEAKING = ['announcement', 'words', 'until heard'] as const;

/** What a provider or a caller can do, by its name in docs/streams.md. */
export const FAULTS: Readonly<Record<string, FaultEntry>> = {
  'refuses the connection': { ...both(hangUp), isRefused: true },
  'answers 429 with `Retry-After`': both(refuses(429, { 'retry-after': '7' })),
  'answers 429': both(refuses(429)),
  'answers 500': both(refuses(500)),
  'answers what cannot be read': both((response) => json(response, 200, '<html>all is well</html>')),
  'never answers': { ...both(fallSilent), isSlow: true },
  'hangs up at once': both(hangUp),
  'sends a head and nothing else': {
    ...both((response) => begin(response, 'text/plain')),
    isSlow: true,
  },
  'reports an error with status 200': {
    whole: refuses(200),
    stream: streams(['error']),
  },
  'hangs up in the middle': { whole: half(hangUp) },
  'ends in the middle': { whole: half(finish) },
  'falls silent in the middle': { whole: half(fallSilent), isSlow: true },
  'announces an answer and reports an error': { stream: streams(['announcement', 'until heard', 'error']) },
  'announces an answer and hangs up': { stream: streams(['announcement', 'until heard'], hangUp) },
  'hangs up after some words': { stream: streams(SPEAKING, hangUp) },
  'falls silent after some words': { stream: streams(SPEAKING, fallSilent), isSlow: true },
  'sends what is no event after some words': { stream: streams([...SPEAKING, 'malformed', 'moreWords', 'end']) },
  'reports an error after some words': { stream: streams([...SPEAKING, 'error', 'moreWords', 'end']) },
  'reports an error and what was used': { stream: streams([...SPEAKING, 'errorWithUsage']) },
  'ends without an end': { stream: streams(SPEAKING) },
  'goes on after its end': { stream: streams([...SPEAKING, 'moreWords', 'end', 'words', 'end', 'error']) },
  'stops at its limit of tokens': { stream: streams([...SPEAKING, 'moreWords', 'endAtLimit']) },
  'does not say what was used': { stream: streams([...SPEAKING, 'moreWords', 'endWithoutUsage']) },
  'is left before it answers': { ...both(fallSilent), leaves: 'at once' },
  'is left after some words': { stream: streams(SPEAKING, fallSilent), leaves: 'after words' },
  'is left after some words and goes on': { stream: goesOn, leaves: 'after words' },
};

/** What a provider does that does nothing wrong. */
export const healthy: Required<Pick<FaultEntry, 'whole' | 'stream'>> = {
  whole: (response, { script }) => json(response, 200, script.answer),
  stream: streams(['announcement', 'words', 'moreWords', 'end']),
};
