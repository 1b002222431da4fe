import { Matches } from 'class-validator';
import { MayBeAbsent } from './member-rules';

/** Query of every paged list; query parameters arrive as text. */
export class PageQueryDto {
  @MayBeAbsent()
  @Matches(/^(?:0|[1-9]\d{0,5})$/, { message: '$property must be a whole number from 0 to 999999' })
  offset?: string;

  @MayBeAbsent()
  @Matches(/^(?:[1-9]\d?|100)$/, { message: '$property must be a whole number from 1 to 100' })
  limit?: string;
}

export interface Page {
  readonly offset: number;
  readonly limit: number;
}

/** The page a validated query asks for. */
export function readPage(query: PageQueryDto, defaultLimit: number): Page {
  return { offset: Number(query.offset ?? 0), limit: Number(query.limit ?? defaultLimit) };
}
