import { promptOf as filmPrompt, RECALLS } from '../../support/billed-videos';
import { Actor, type LoadTools } from './load';

export const VIDEO_SECONDS = 2;

/** A program that orders films and looks at them now and then. */
export class VideoSubmitter extends Actor {
  readonly #ordered: string[] = [];

  constructor(tools: LoadTools, number: number) {
    super(tools, `videos-${number}`, [400, 1_500]);
  }

  protected override async step(number: number): Promise<void> {
    const { random, tools } = this;
    const common = { actor: this.name, gateway: this.gateway(), key: tools.apiKey.key } as const;
    if (this.#ordered.length > 0 && random.chance(0.3)) {
      const path = `/videos/${random.pick(this.#ordered)}`;
      await tools.client.ask({ ...common, what: 'GET /videos/:id', method: 'GET', path });
      return;
    }
    const recall = random.pick(RECALLS);
    const prompt = filmPrompt(number);
    const body = { model: `film/${recall}`, prompt, duration: VIDEO_SECONDS, callback_url: tools.webhookUrl };
    const ask = { ...common, what: 'POST /videos', method: 'POST', path: '/videos', body } as const;
    const answer = await tools.client.ask<{ id: string }>(ask);
    if (answer.status !== 202 || answer.body === null) return;
    this.#ordered.push(answer.body.id);
    tools.history.addVideo({ id: answer.body.id, recall, prompt, acceptedMs: answer.endMs });
  }
}
