import { IsInt, Max, Min } from 'class-validator';

/** Which part of a list is asked for; requests for lists extend it. */
export class Page {
  /** So many are passed over. */
  @IsInt()
  @Min(0)
  @Max(1_000_000)
  offset: number;

  /** So many are answered at most. */
  @IsInt()
  @Min(1)
  @Max(100)
  limit: number;
}
