import { IsOptional, IsString, Length } from 'class-validator';

/** What every job may carry beside the ids of its rows. */
export class JobPayload {
  /** Of the span that caused the job (W3C Trace Context, `traceparent`); absent where nobody traces. */
  @IsOptional()
  @IsString()
  @Length(55, 55)
  traceparent?: string;
}
