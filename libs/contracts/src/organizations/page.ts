import { IsInt, Max, Min } from 'class-validator';

/** Which part of a list is asked for; requests for lists extend it. */
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
