import { openTestDatabase, storeVideo, type OpenTestDatabase } from '../testing';
import { VideoDemandRepository } from './video-demand.repository';

describe(VideoDemandRepository, () => {
  let opened: OpenTestDatabase;
  let demand: VideoDemandRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    demand = new VideoDemandRepository(opened.database);
  });

  afterAll(() => opened.close());

  async function video(assignment: string): Promise<void> {
    const { id } = await storeVideo(opened.database);
    await opened.database.execute({ sql: `UPDATE videos SET ${assignment} WHERE id = $1`, values: [id] });
  }

  async function delivery(host: string, assignment = 'attempts = 0'): Promise<void> {
    await opened.database.execute({
      sql: `INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
            VALUES (gen_random_uuid()::text, '00000000-0000-4000-8000-000000000001', gen_random_uuid(), 'https://' || $1, $1, 'video.completed', '{}')`,
      values: [host],
    });
    await opened.database.execute({
      sql: `UPDATE webhook_deliveries SET ${assignment} WHERE host = $1`,
      values: [host],
    });
  }

  it('is nothing while nothing is open', async () => {
    expect(await demand.open(5, 9)).toEqual({ stepsUnderWay: 0, submissionsDue: 0, pollsDue: 0, deliveries: 0 });
  });

  it('counts steps by what is under way and what is due, and no step that waits for its time', async () => {
    await video(`step = 'submit'`);
    await video(`step = 'poll', operation = '{}', request = NULL, lease_until = now() - interval '1 second'`);
    await video(`step = 'poll', operation = '{}', request = NULL, lease_until = now() + interval '30 seconds'`);
    await video(`step = 'poll', operation = '{}', request = NULL, next_at = now() + interval '1 minute'`);
    await video(`status = 'failed', request = NULL, finished_at = now()`);
    expect(await demand.open(5, 9)).toMatchObject({ stepsUnderWay: 1, submissionsDue: 1, pollsDue: 1 });
  });

  it('counts events of a receiver up to those that are sent to it at once', async () => {
    for (let event = 0; event < 4; event += 1) await delivery('busy.example');
    await delivery('done.example', 'delivered_at = now()');
    await delivery('later.example', `next_attempt_at = now() + interval '1 hour'`);
    await delivery('other.example');
    expect((await demand.open(3, 9)).deliveries).toBe(4);
    expect((await demand.open(3, 2)).deliveries).toBe(2);
  });
});
