import type { Failpoint } from '@libs/failpoints';
import type { Recall } from '../billed-videos';
import { amountOf } from '../decimal';
import { eventually } from '../eventually';
import { END_MS, VIDEO_USD, type FailpointStage } from './failpoint-stage';
import { nothing, type Ordeal } from './ordeal';

const SECONDS = 2;

interface EndedVideo {
  readonly status: string;
  readonly needs_review: boolean;
  readonly hold: string;
  readonly charges: string[];
}

/** A worker that dies on the way of one film. */
export class VideoOrdeals {
  constructor(private readonly stage: FailpointStage) {}

  video(recall: Recall, ...points: readonly Failpoint[]): Ordeal {
    const job = Promise.withResolvers<string>();
    const load = async (): Promise<void> => job.resolve(await this.submit(recall));
    return {
      app: 'video-worker',
      deaths: points.map((point, index) => ({ point, pass: 1, load: index === 0 ? load : nothing })),
      verify: async () => {
        const { client, providers } = this.stage;
        const id = await job.promise;
        const { charges, ...end } = await this.endOf(id);
        // Where a provider can neither be asked nor asked again, nobody can know that it took the job.
        const isKnown = recall !== 'plain' || !points.includes('video-submitted');
        const status = isKnown ? 'completed' : 'failed';
        expect(end).toEqual({ status, needs_review: !isKnown, hold: 'resolved' });
        expect(charges.map(amountOf)).toEqual(isKnown ? [amountOf(VIDEO_USD) * BigInt(SECONDS)] : []);
        expect(providers.films[recall].paidFor().get(id)).toBe(1);
        const times = points.includes('webhook-sent') ? 2 : 1;
        expect(this.eventsAbout(id)).toEqual(Array(times).fill(`${id}-${status}`));
        if (isKnown) expect((await client.request('GET', `/videos/${id}/content?index=0`)).status).toBe(200);
      },
    };
  }

  private async submit(recall: Recall): Promise<string> {
    const { client, receiver } = this.stage;
    const body = { model: `film/${recall}`, prompt: 'A film.', duration: SECONDS, callback_url: receiver.url() };
    const answer = await client.request<{ id: string }>('POST', '/videos', body);
    expect(answer.status).toBe(202);
    return answer.body.id;
  }

  private endOf(id: string): Promise<EndedVideo> {
    return eventually(`${id} is over and announced`, END_MS, async () => {
      const row = await this.stage.installation.database.firstRow<EndedVideo>({
        sql: `SELECT v.status, v.needs_review, h.state AS hold,
                (SELECT coalesce(json_agg(t.amount_usd::text), '[]') FROM ledger_transfers t
                  WHERE t.reference = v.id AND t.kind = 'charge') AS charges
              FROM videos v JOIN ledger_holds h ON h.id = v.id
              JOIN webhook_deliveries d ON d.id = v.id || '-' || v.status AND d.delivered_at IS NOT NULL
              WHERE v.id = $1 AND v.finished_at IS NOT NULL`,
        values: [id],
      });
      return row ?? undefined;
    });
  }

  /** The ids of the events that were received about a job, each as often as it came. */
  private eventsAbout(id: string): string[] {
    const about = this.stage.receiver.events.filter(({ text }) => text.includes(id));
    return about.map(({ headers }) => String(headers['webhook-id']));
  }
}
