/** An event for the receiver at `url`. */
export interface NewWebhookDelivery {
  /** The same however often the event is announced: `<id of the ended object>-<its status>`. At most 200 characters. */
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** An https URL that was checked when it was accepted; it is checked again before delivery. */
  readonly url: string;
  /** Event type, such as `batch.completed`. */
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
  /** Number of claims since then whose workers did not report back. */
  readonly deaths: number;
  /** True if the claimed attempt is the first since the operator had the event sent again. */
  readonly isByHand: boolean;
  /** Time since the event was created or sent again, in milliseconds by the database's clock. */
  readonly owedForMs: number;
}

/** How an attempt ended. */
export interface AttemptResult {
  /** HTTP status of the answer; null if there was none. */
  readonly status: number | null;
  /** Error message that contains nothing of the URL; null for a successful delivery. */
  readonly error: string | null;
}

/** Claims that two workers make in the same moment may exceed a bound by what the other one takes. */
export interface ClaimBounds {
  /** Most deliveries to claim. */
  readonly limit: number;
  /** Most running deliveries of one host, including those of other workers. */
  readonly perHost: number;
  /** Most running deliveries of one organization, including those of other workers. */
  readonly perOrganization: number;
  /** Most running deliveries of one organization at one host. */
  readonly perOrganizationAtHost: number;
  /** Longer than an attempt can take, because leases are not renewed. */
  readonly leaseMs: number;
  /** Deliveries to leave alone. */
  readonly exceptIds?: readonly string[];
}

/** What an operator sees of an event: never its content. */
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

/** Which events to list. */
export interface WebhookFilter {
  readonly state: WebhookReport['state'] | null;
  readonly workspaceId: string | null;
  readonly limit: number;
}
