import type { ServerResponse } from 'node:http';
import type { ReceivedRequest } from '@libs/inference/testing';

/** How a provider can be asked what became of a submission: by its key, by its list, or not at all. */
export const RECALLS = ['keyed', 'listed', 'plain'] as const;
export type Recall = (typeof RECALLS)[number];

export const PROTOCOLS: Readonly<Record<Recall, string>> = { keyed: 'openai', listed: 'byteplus', plain: 'openai' };

/** What begins like an MP4 and is no more. */
const CLIP = Buffer.concat([Buffer.from('\0\0\0\x18ftypisom', 'latin1'), Buffer.alloc(2_036, 7)]);
/** Long enough that deaths strike between the provider's yes and our writing it down. */
const SUBMISSION_MS = 400;
const FIRST_REFUSED = 11;
const FIRST_UNANSWERED = 9;
const FIRST_SILENT_POLL = 7;

/** What becomes of a film, as its prompt says. */
const GONE = 'gone';
const LATE = 'late';

interface BilledJob {
  readonly id: string;
  /** Our id, as it came with the submission. */
  readonly reference: string;
  readonly fate: string;
  polls: number;
  fetches: number;
}

/** Called at moments at which a worker may die: the job is billed, and its answer not sent; its film has been sent. */
export interface BilledMoments {
  submitted(reference: string): void;
  fetched(reference: string): void;
}

/**
 * A provider that counts what it would bill. It refuses some submissions for now, answers others with an error
 * although it took them, is out of order at times, and of some films has nothing but a dead link.
 */
export class BilledVideos {
  readonly #jobs = new Map<string, BilledJob>();
  #submissions = 0;
  #polls = 0;

  constructor(
    readonly recall: Recall,
    private readonly moments: BilledMoments,
  ) {}

  answer(response: ServerResponse, request: ReceivedRequest): void {
    const { path, method } = request;
    if (method === 'POST') return this.#submit(response, request);
    if (path.includes('/tasks?')) return this.#list(response);
    const [, id = '', rest] = /\/(?:videos|tasks)\/([^/]+)\/?(.*)$/.exec(path) ?? [];
    const job = this.#jobs.get(id);
    if (!job) return send(response, 404, { error: { message: 'No such video' } });
    if (rest === 'content') return this.#content(response, job);
    this.#show(response, job, request);
  }

  /** How many jobs were made for each of our ids. */
  paidFor(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { reference } of this.#jobs.values()) counts.set(reference, (counts.get(reference) ?? 0) + 1);
    return counts;
  }

  #submit(response: ServerResponse, { headers, body }: ReceivedRequest): void {
    this.#submissions += 1;
    if (this.#submissions % FIRST_REFUSED === 0) {
      return send(response, 429, { error: { message: 'Later' } }, { 'retry-after': '1' });
    }
    const asked = JSON.parse(body) as { safety_identifier?: string };
    const reference = asked.safety_identifier ?? String(headers['idempotency-key']);
    const known = this.recall === 'keyed' ? this.#find(reference) : undefined;
    const fate = [GONE, LATE].find((word) => body.includes(word)) ?? '';
    const job = known ?? { id: `job_${this.#jobs.size}`, reference, fate, polls: 0, fetches: 0 };
    // It is billed from here on, whoever hears the answer.
    this.#jobs.set(job.id, job);
    this.moments.submitted(reference);
    const isUnanswered = this.#submissions % FIRST_UNANSWERED === 0;
    const answer = isUnanswered ? { error: { message: 'Out of order' } } : { id: job.id, status: 'queued' };
    setTimeout(() => send(response, isUnanswered ? 502 : 200, answer), SUBMISSION_MS);
  }

  #list(response: ServerResponse): void {
    const items = [...this.#jobs.values()].map(({ id, reference }) => ({ id, safety_identifier: reference }));
    send(response, 200, { items, total: items.length });
  }

  #show(response: ServerResponse, job: BilledJob, { path, headers }: ReceivedRequest): void {
    job.polls += 1;
    this.#polls += 1;
    if (this.#polls % FIRST_SILENT_POLL === 0) return send(response, 503, { error: { message: 'Out of order' } });
    const isDone = job.polls > 1;
    if (this.recall !== 'listed') {
      return send(response, 200, { id: job.id, status: isDone ? 'completed' : 'in_progress' });
    }
    const base = path.slice(0, path.indexOf('/contents/'));
    const content = { video_url: `http://${headers.host}${base}/videos/${job.id}/content` };
    send(response, 200, { id: job.id, status: isDone ? 'succeeded' : 'running', ...(isDone && { content }) });
  }

  #content(response: ServerResponse, job: BilledJob): void {
    job.fetches += 1;
    if (job.fate === GONE) return send(response, 404, { error: { message: 'No such file' } });
    if (job.fate === LATE && job.fetches === 1) return send(response, 403, { error: { message: 'Expired' } });
    response.writeHead(200, { 'content-type': 'video/mp4' });
    response.end(CLIP, () => this.moments.fetched(job.reference));
  }

  #find(reference: string): BilledJob | undefined {
    return [...this.#jobs.values()].find((job) => job.reference === reference);
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A prompt for a film of which every tenth is gone and every tenth comes late. */
export function promptOf(number: number): string {
  const fate = number % 10 === 3 ? GONE : number % 10 === 6 ? LATE : 'kept';
  return `Film ${number}, which is ${fate}.`;
}

export function isGone(prompt: string): boolean {
  return prompt.includes(GONE);
}
