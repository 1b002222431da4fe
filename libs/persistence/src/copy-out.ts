import type { Connection, Submittable } from 'pg';
import { afterCopyHeader, CopyRow } from './copy-row';

/**
 * `COPY (SELECT …) TO STDOUT` in binary, for `client.query`. Passes rows on one by one as the driver reads them. For
 * many small rows this costs a third of a stream whose chunks must be joined and split again.
 *
 * There is no backpressure: the caller must limit the rows of the statement.
 */
export class CopyOut implements Submittable {
  /** Settles when the connection may be used again. */
  readonly done: Promise<void>;
  private resolve!: () => void;
  private reject!: (error: unknown) => void;
  private readonly row = new CopyRow();
  private isOpened = false;
  private failure: { readonly thrown: unknown } | null = null;

  /**
   * @param onRow its row is valid only during the call, see CopyRow; after it throws it is not called again, and `done`
   * rejects
   * @param before a statement without rows that runs first, in the same transaction
   */
  constructor(
    private readonly select: string,
    private readonly onRow: (row: CopyRow) => void,
    private readonly before: string | null = null,
  ) {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  submit(connection: Connection): void {
    const before = this.before === null ? '' : `${this.before}; `;
    connection.query(`${before}COPY (${this.select}) TO STDOUT (FORMAT binary)`);
  }

  handleRowDescription(): void {}

  /** PostgreSQL sends one message per row; the first of them begins with the stream's header. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.failure !== null) return;
    try {
      const offset = this.isOpened ? 0 : afterCopyHeader(chunk);
      this.isOpened = true;
      if (this.row.read(chunk, offset)) this.onRow(this.row);
    } catch (thrown) {
      // Not thrown into the driver, which must read the answer to its end.
      this.failure = { thrown };
    }
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    if (this.failure === null) this.resolve();
    else this.reject(this.failure.thrown);
  }

  handleError(error: unknown): void {
    this.reject(error);
  }
}
