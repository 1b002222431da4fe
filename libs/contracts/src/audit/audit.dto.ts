import { IsUUID, Matches } from 'class-validator';
import { IsNameText, IsUtcInstant, MayBeAbsent } from '../organizations/member-rules';

/** Query of `GET /audit`; query parameters arrive as text. */
export class ListAuditQueryDto {
  /** Entries from this moment on. */
  @MayBeAbsent()
  @IsUtcInstant()
  from?: string;

  /** Entries before this moment. */
  @MayBeAbsent()
  @IsUtcInstant()
  to?: string;

  /** Id of the management key that acted. */
  @MayBeAbsent()
  @IsUUID()
  key_id?: string;

  /** Method and route, or the words of a command, in the form of the entries. */
  @MayBeAbsent()
  @IsNameText(1, 200)
  action?: string;

  /** The object in an entry's path, or the one that the action created, such as the hash of a key. */
  @MayBeAbsent()
  @IsNameText(1, 500)
  target?: string;

  /** `next_cursor` of the page before. */
  @MayBeAbsent()
  @Matches(/^[1-9]\d{0,17}$/, { message: '$property must be the next_cursor of an earlier page' })
  cursor?: string;

  @MayBeAbsent()
  @Matches(/^(?:[1-9]\d?|100)$/, { message: '$property must be a whole number from 1 to 100' })
  limit?: string;
}

/** One call with a management key, or one action of an operator at the command line. */
export interface AuditEntryDto {
  id: string;
  /** ISO 8601 UTC. */
  at: string;
  /** Id of the management key; null for an operator. */
  key_id: string | null;
  /** Login of the operator; null for a key. */
  operator: string | null;
  action: string;
  target: string | null;
  /** Never the caller's own. */
  request_id: string;
  /** The `X-Request-Id` that the caller sent; null without one. */
  client_request_id: string | null;
  /** HTTP status of the answer; null while the call runs, and when its process died. */
  status: number | null;
}

export interface AuditPageDto {
  data: AuditEntryDto[];
  /** Null on the last page. */
  next_cursor: string | null;
}
