import { promptOf as filmPrompt, RECALLS } from '../../support/billed-videos';
import type { Answer } from '../storm-client';
import { Actor, type LoadTools } from './load';

export const VIDEO_SECONDS = 2;
const MOST_TRIES = 12;
const SUBMISSION = 'submission';

interface AcceptedVideo {
  readonly id: string;
}

/** A program that orders films and looks at them now and then. */
export class VideoSubmitter extends Actor {
  readonly #ordered: string[] = [];

  constructor(tools: LoadTools, number: number) {
    super(tools, `videos-${number}`, [400, 1_500]);
  }

  protected override async step(number: number): Promise<void> {
    const { random, tools } = this;
    if (this.#ordered.length > 0 && random.chance(0.3)) {
      const path = `/videos/${random.pick(this.#ordered)}`;
      const common = { actor: this.name, gateway: this.gateway(), key: tools.apiKey.key } as const;
      await tools.client.ask({ ...common, what: 'GET /videos/:id', method: 'GET', path });
      return;
    }
    const recall = random.pick(RECALLS);
    const isKeyed = random.chance(0.6);
    const prompt = filmPrompt(number);
    const name = `${this.name}-${number}`;
    tools.history.addVideoSubmission(name);
    const callbackUrl = callbackOf(tools.webhookUrl, name);
    const body = { model: `film/${recall}`, prompt, duration: VIDEO_SECONDS, callback_url: callbackUrl };
    const answer = await this.#submit(body, isKeyed ? name : null);
    if (answer.status !== 202 || answer.body === null) return;
    this.#ordered.push(answer.body.id);
    tools.history.addVideo({ id: answer.body.id, recall, prompt, acceptedMs: answer.endMs });
  }

  /** Sends a submission; one that has an idempotency key is repeated until its outcome is known. */
  async #submit(body: object, idempotencyKey: string | null): Promise<Answer<AcceptedVideo>> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.tools.client.ask<AcceptedVideo>({
        actor: this.name,
        what: 'POST /videos',
        gateway: this.gateway(),
        key: this.tools.apiKey.key,
        method: 'POST',
        path: '/videos',
        body,
        ...(idempotencyKey !== null && { headers: { 'idempotency-key': idempotencyKey } }),
      });
      if (idempotencyKey === null || tries === MOST_TRIES || isFinal(answer.status) || this.tools.isOver()) {
        return answer;
      }
      await this.pause();
    }
  }
}

function isFinal(status: number | null): boolean {
  return status !== null && status < 500 && status !== 409 && status !== 429;
}

/** A callback URL that names the submission: it is stored with the video, whose prompt is not. */
function callbackOf(webhookUrl: string, submission: string): string {
  const url = new URL(webhookUrl);
  url.searchParams.set(SUBMISSION, submission);
  return url.href;
}

/** Returns the submission that a callback URL names, or null if it names none. */
export function submissionIn(callbackUrl: string | null): string | null {
  return callbackUrl === null ? null : new URL(callbackUrl).searchParams.get(SUBMISSION);
}
