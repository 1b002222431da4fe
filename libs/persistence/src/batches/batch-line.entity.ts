import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';

/** One request of a batch. The unique index is the judge of duplicate custom ids. */
@Entity({ name: 'batch_lines' })
@Unique('batch_lines_custom_id_once', ['batchNumber', 'customId', 'createdOn'])
export class BatchLineEntity {
  @PrimaryColumn({ type: 'date', name: 'created_on' })
  createdOn: string;

  @PrimaryColumn({ type: 'bigint', name: 'batch_number' })
  batchNumber: string;

  @PrimaryColumn({ type: 'integer' })
  seq: number;

  @Column({ type: 'text', name: 'custom_id' })
  customId: string;

  /** The caller's bytes of `requests[].body`. */
  @Column({ type: 'bytea' })
  body: Buffer;
}
