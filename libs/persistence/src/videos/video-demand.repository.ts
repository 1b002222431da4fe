import { Injectable } from '@nestjs/common';
import { Database } from '../database';

/** Present work of the video workers. */
export interface VideoDemand {
  /** Steps of videos that some worker is running now. */
  readonly stepsUnderWay: number;
  readonly submissionsDue: number;
  /** Due polls of videos. Each poll ends with the download. */
  readonly pollsDue: number;
  /** Events that are being sent now, or are due; per receiver and organization at most as many as are sent at once. */
  readonly deliveries: number;
}

/** Reads how many steps and deliveries are due, from which the number of video workers is derived. */
@Injectable()
export class VideoDemandRepository {
  constructor(private readonly database: Database) {}

  /**
   * @param perHost events that all workers together send to one receiver at once
   * @param perOrganization events that they send for one organization at once
   */
  async open(perHost: number, perOrganization: number): Promise<VideoDemand> {
    const row = await this.database.firstRow<VideoDemand>({
      name: 'video-demand',
      sql: `
        SELECT v.*, d.* FROM (
          SELECT count(*) FILTER (WHERE lease_until >= now())::float8 AS "stepsUnderWay",
            count(*) FILTER (WHERE is_due AND step <> 'poll')::float8 AS "submissionsDue",
            count(*) FILTER (WHERE is_due AND step = 'poll')::float8 AS "pollsDue"
          FROM (
            SELECT step, lease_until, next_at <= now() AND (lease_until IS NULL OR lease_until < now()) AS is_due
            FROM videos WHERE finished_at IS NULL
          ) open_videos
        ) v, (
          SELECT least(
            coalesce(sum(least(events, $1)) FILTER (WHERE organization_id IS NULL), 0),
            coalesce(sum(least(events, $2)) FILTER (WHERE organization_id IS NOT NULL), 0)
          )::float8 AS deliveries FROM (
            SELECT organization_id, count(*) AS events FROM webhook_deliveries
            WHERE delivered_at IS NULL AND given_up_at IS NULL AND (next_attempt_at <= now() OR lease_until >= now())
            GROUP BY GROUPING SETS ((host), (organization_id))
          ) sets
        ) d`,
      values: [perHost, perOrganization],
    });
    return row!;
  }
}
