/** Neither delivered nor given up. */
export const PENDING = 'delivered_at IS NULL AND given_up_at IS NULL';
/** Since when the receiver is owed the event `w`. */
export const OWED_SINCE = 'coalesce(w.redelivered_at, w.created_at)';

/**
 * After this many consecutive unfinished claims, an event is claimed ever more rarely, because it may be what kills
 * workers.
 */
const SUSPECT_FROM = 10;
const LONGEST_REST_MS = 3_600_000;

const IS_FULL = 'w.organization_id IN (SELECT organization_id FROM busy_organizations WHERE is_full) AS is_full';

/** As long as an attempt may take. */
const LONG_WAIT = `interval '15 seconds'`;

/**
 * Claims due events. The parameters are: the most to claim, the most under way at a host, of an organization and of an
 * organization at a host, the lease in milliseconds, and ids to leave alone.
 *
 * A place at a host goes to no event that its organization has no room for: the bound of organizations comes first. It
 * goes to the event that waits longest, and among those that wait long by lot: otherwise a few organizations with many
 * old events for a receiver that never answers would have all places of its host, again and again.
 *
 * A lane is an organization and a host. Lanes are found by steps along the index; an organization that has all that it
 * may have under way is passed over in one step, however many hosts it has.
 */
export const CLAIM = `
WITH RECURSIVE busy AS MATERIALIZED (
  SELECT organization_id, host, count(*) AS events FROM webhook_deliveries
  WHERE ${PENDING} AND lease_until >= now() GROUP BY organization_id, host
), busy_hosts AS MATERIALIZED (
  SELECT host, sum(events) AS events FROM busy GROUP BY host
), busy_organizations AS MATERIALIZED (
  SELECT organization_id, sum(events) AS events, sum(events) >= $3::integer AS is_full FROM busy GROUP BY organization_id
), lanes AS (
  (SELECT organization_id, host, ${IS_FULL} FROM webhook_deliveries w
   WHERE ${PENDING} ORDER BY organization_id, host LIMIT 1)
  UNION ALL
  SELECT w.organization_id, w.host, ${IS_FULL} FROM lanes l CROSS JOIN LATERAL (
    (SELECT organization_id, host FROM webhook_deliveries
     WHERE NOT l.is_full AND ${PENDING} AND (organization_id, host) > (l.organization_id, l.host)
     ORDER BY organization_id, host LIMIT 1)
    UNION ALL
    (SELECT organization_id, host FROM webhook_deliveries
     WHERE l.is_full AND ${PENDING} AND organization_id > l.organization_id
     ORDER BY organization_id, host LIMIT 1)
  ) w
), by_lane AS (
  SELECT l.organization_id, l.host, coalesce(b.events, 0) AS in_lane, coalesce(h.events, 0) AS at_host,
    coalesce(o.events, 0) AS of_organization
  FROM lanes l LEFT JOIN busy b USING (organization_id, host) LEFT JOIN busy_hosts h USING (host)
    LEFT JOIN busy_organizations o USING (organization_id)
  WHERE NOT l.is_full
), due AS (
  SELECT l.*, w.id, w.next_attempt_at,
    l.in_lane + row_number() OVER (PARTITION BY l.organization_id, l.host ORDER BY w.next_attempt_at) AS lane_rank
  FROM by_lane l CROSS JOIN LATERAL (
    SELECT id, next_attempt_at FROM webhook_deliveries w
    WHERE ${PENDING} AND w.organization_id = l.organization_id AND w.host = l.host AND next_attempt_at <= now()
      AND (lease_until IS NULL OR lease_until < now()) AND id <> ALL($6::text[])
    ORDER BY next_attempt_at LIMIT greatest(0, $4::integer - l.in_lane)
  ) w WHERE l.at_host < $2::integer
), of_organizations AS (
  SELECT d.*, of_organization
    + row_number() OVER (PARTITION BY organization_id ORDER BY lane_rank, next_attempt_at) AS organization_rank
  FROM due d
), fair AS (
  SELECT o.*, at_host
    + row_number() OVER (PARTITION BY host ORDER BY lane_rank, greatest(next_attempt_at, now() - ${LONG_WAIT}), random()) AS host_rank
  FROM of_organizations o WHERE organization_rank <= $3::integer
), picked AS (
  SELECT w.id FROM webhook_deliveries w JOIN (
    SELECT id, organization_rank, next_attempt_at FROM fair WHERE host_rank <= $2::integer
    ORDER BY organization_rank, next_attempt_at LIMIT $1
  ) first ON first.id = w.id
  WHERE ${PENDING} AND w.next_attempt_at <= now() AND (w.lease_until IS NULL OR w.lease_until < now())
  ORDER BY first.organization_rank, first.next_attempt_at FOR UPDATE OF w SKIP LOCKED
)
UPDATE webhook_deliveries w
SET lease_until = now() + $5 * interval '1 millisecond', fence = w.fence + 1, unfinished = w.unfinished + 1,
    last_attempt_at = now(),
    next_attempt_at = CASE WHEN w.unfinished < ${SUSPECT_FROM} THEN w.next_attempt_at
      ELSE now() + least($5 * 2 ^ least(w.unfinished - ${SUSPECT_FROM - 1}, 16), ${LONGEST_REST_MS})
        * (0.75 + random() / 4) * interval '1 millisecond' END
FROM picked p WHERE w.id = p.id
RETURNING w.id, w.fence, w.organization_id, w.workspace_id, w.url, w.type, w.payload::text AS payload,
          w.created_at, w.attempts + 1 AS attempts, w.unfinished - 1 AS deaths,
          w.redelivered_at IS NOT NULL AND w.attempts = 0 AS is_by_hand,
          (extract(epoch FROM now() - ${OWED_SINCE}) * 1000)::float8 AS owed_for_ms`;
