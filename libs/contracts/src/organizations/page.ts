import { IsInt, Max, Min } from 'class-validator';

/** The requested part of a list; requests for lists extend this class. */
export class Page {
  /** Number of entries to skip. */
  @IsInt()
  @Min(0)
  @Max(1_000_000)
  offset: number;

  /** Most entries in the response. */
  @IsInt()
  @Min(1)
  @Max(100)
  limit: number;
}
