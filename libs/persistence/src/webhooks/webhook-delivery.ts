/** An event that is owed to the receiver at `url`. */
export interface NewWebhookDelivery {
  /** The same however often the event is announced: `<id of what ended>-<its status>`. At most 200 characters. */
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** An https URL that was accepted at the door; delivery judges it again. */
  readonly url: string;
  /** Such as `batch.completed`. */
  readonly type: string;
  /** The event's `data`. */
  readonly payload: object;
}

/** A lease on a delivery: only the holder of the highest fence may record how the attempt ended. */
export interface WebhookLease {
  readonly id: string;
  readonly fence: bigint;
}

export interface ClaimedWebhook extends WebhookLease {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly url: string;
  readonly type: string;
  /** JSON text of the event's `data`, as it was stored. */
  readonly payload: string;
  readonly createdAt: Date;
  /** Attempts so far, the claimed one included. */
  readonly attempts: number;
  /** Claims since then whose workers did not come back. */
  readonly deaths: number;
  /** The claimed attempt is the first since the operator had the event sent again. */
  readonly isByHand: boolean;
  /** For how long the event has been owed, or owed anew, in milliseconds by the database's clock. */
  readonly owedForMs: number;
}

/** How an attempt ended. */
export interface AttemptResult {
  /** HTTP status of the answer; null where there was none. */
  readonly status: number | null;
  /** In words that name nothing of the URL; null for a delivery. */
  readonly error: string | null;
}

export interface ClaimBounds {
  /** At most so many deliveries. */
  readonly limit: number;
  /** At most so many of one host under way, those of other workers included. */
  readonly perHost: number;
  /** Longer than an attempt can take: leases are not renewed. */
  readonly leaseMs: number;
  /** Deliveries to leave alone. */
  readonly exceptIds?: readonly string[];
}

/** What an operator sees of an event: never what it says. */
export interface WebhookReport {
  readonly id: string;
  readonly workspaceId: string;
  readonly type: string;
  readonly host: string;
  readonly state: 'pending' | 'delivered' | 'given up';
  readonly attempts: number;
  readonly createdAt: Date;
  readonly nextAttemptAt: Date;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** Which events are listed. */
export interface WebhookFilter {
  readonly state: WebhookReport['state'] | null;
  readonly workspaceId: string | null;
  readonly limit: number;
}
