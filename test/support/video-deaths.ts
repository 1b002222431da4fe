import type { BilledMoments } from './billed-videos';
import type { Installation } from './installation';

const EVERY_MS = 3_000;
const WORKER = 'video-worker';

/** How often the worker is to die at each moment, and by the clock. */
export type DeathQuotas = Readonly<Record<'submitted' | 'fetched' | 'announced' | 'clock', number>>;
type Moment = keyof DeathQuotas;

/**
 * Kills the video worker: every three seconds, and at moments that others tell of, once for each job. A death at a
 * moment counts when the row says that what was to be written after it was not.
 */
export class VideoDeaths implements BilledMoments {
  readonly hits: Record<Moment, number> = { submitted: 0, fetched: 0, announced: 0, clock: 0 };
  readonly #struck = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #isKilling = false;

  constructor(
    private readonly installation: Installation,
    private readonly quotas: DeathQuotas,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.#strike('clock', null), EVERY_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  submitted(reference: string): void {
    void this.#strike('submitted', reference);
  }

  fetched(reference: string): void {
    void this.#strike('fetched', reference);
  }

  announced(eventId: string): Promise<void> {
    return this.#strike('announced', eventId);
  }

  /** Moments that were not struck as often as they should have been; the clock strikes as long as there are jobs. */
  missed(): string[] {
    const moments = (Object.keys(this.quotas) as Moment[]).filter((moment) => moment !== 'clock');
    return moments.filter((moment) => this.hits[moment] < this.quotas[moment]);
  }

  async #strike(moment: Moment, id: string | null): Promise<void> {
    const name = `${moment} ${id}`;
    if (!this.#isDue(moment) || this.#struck.has(name)) return;
    this.#isKilling = true;
    try {
      await this.installation.kill9(WORKER);
      if (id !== null) this.#struck.add(name);
      if (id === null || (await this.#wasInTime(moment, id))) this.hits[moment] += 1;
      await this.#endLeases();
    } catch {
      // It is down already, or not up again yet: another moment will come.
    } finally {
      this.#isKilling = false;
    }
  }

  #isDue(moment: Moment): boolean {
    return this.#timer !== null && !this.#isKilling && this.hits[moment] < this.quotas[moment];
  }

  /** The dead worker wrote nothing after the moment. */
  async #wasInTime(moment: Moment, id: string): Promise<boolean> {
    const sql =
      moment === 'announced'
        ? 'SELECT 1 FROM webhook_deliveries WHERE id = $1 AND delivered_at IS NULL'
        : `SELECT 1 FROM videos WHERE id = $1 AND ${moment === 'submitted' ? "step = 'submitting'" : 'finished_at IS NULL'}`;
    return (await this.installation.database.firstRow({ sql, values: [id] })) !== null;
  }

  /** What a dead worker held is free at once, as if half a minute had passed: nobody else holds anything. */
  async #endLeases(): Promise<void> {
    for (const table of ['videos', 'webhook_deliveries']) {
      await this.installation.database.execute({
        sql: `UPDATE ${table} SET lease_until = now() WHERE lease_until > now()`,
      });
    }
  }
}
