import { GatheredPieces, guardConnections } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { hasMoreParts, type MostParts } from '@libs/json';
import { Agent, buildConnector, request } from 'undici';
import { bytesForText, countFetched, type Reserve } from '../http/fetched-bytes';
import type { OutsideWork } from '../parsers/outside-work';
import { fieldsOf, type Fields } from './named-tools';

export interface ServiceCall {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent by POST as JSON; if absent, a GET is sent. */
  readonly body?: object;
  readonly work: Pick<OutsideWork, 'memory' | 'signal'>;
}

const TIMEOUT_MS = 15_000;
const LARGEST_ANSWER = 8 * 1024 * 1024;
/** Many times the parts of a hundred results. */
const MOST_OF_ANSWER: MostParts = { containers: 200_000, members: 400_000, commas: 800_000 };
const connections = new Agent({ connect: guardConnections(buildConnector({ timeout: TIMEOUT_MS, allowH2: false })) });
const REFUSALS: ReadonlySet<number> = new Set([400, 422]);

const refused = new WeakSet<object>();

/** Returns whether a call failed because the service refused the request: asking for less may help. */
export function isRefusal(error: unknown): boolean {
  return typeof error === 'object' && error !== null && refused.has(error);
}

/**
 * Calls a service that the operator configured, such as a search engine. Its URL is trusted and its key is sent to it,
 * but its answer is not trusted.
 * @param service its name in error messages
 * @throws AppError provider_unavailable or timeout; provider_overloaded if there is no memory for the answer; the
 * signal's reason when it is aborted
 */
export async function callService(service: string, call: ServiceCall): Promise<Fields> {
  call.work.signal.throwIfAborted();
  const text = await countFetched(call.work.memory, (reserve) => answerOf(service, call, reserve), bytesForText);
  return fieldsOf(parsed(text, service));
}

async function answerOf(service: string, call: ServiceCall, reserve: Reserve): Promise<string> {
  const { url, headers, body, work } = call;
  const { signal } = work;
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const answer = await request(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.any([signal, deadline]),
      dispatcher: connections,
    });
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      const error = unavailable(service, `status ${answer.statusCode}`);
      if (REFUSALS.has(answer.statusCode)) refused.add(error);
      throw error;
    }
    return await readBounded(answer.body, service, reserve);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) throw new AppError('timeout', `The ${service} did not answer in time`);
    throw error instanceof AppError ? error : unavailable(service, 'the exchange failed', error);
  }
}

async function readBounded(body: AsyncIterable<Buffer>, service: string, reserve: Reserve): Promise<string> {
  const gathered = new GatheredPieces();
  for await (const chunk of body) {
    if (gathered.bytes + chunk.length > LARGEST_ANSWER) throw unavailable(service, 'the answer is too long');
    await reserve(chunk.length);
    gathered.add(chunk);
  }
  const text = gathered.take();
  if (hasMoreParts(text, MOST_OF_ANSWER)) throw unavailable(service, 'the answer has too many parts');
  return text.toString();
}

function parsed(text: string, service: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unavailable(service, 'its answer is no JSON', error);
  }
}

function unavailable(service: string, internal: string, cause?: unknown): AppError {
  return new AppError('provider_unavailable', `The ${service} is not available`, {
    internal: `${service}: ${internal}`,
    cause,
  });
}
