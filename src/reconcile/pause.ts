/** Waiting that ends early: when there is work, or when the mirror stops. */
export class Pause {
  #isWoken = false;
  #isStopped = false;
  #resume: () => void = () => undefined;

  /** Ends the wait under way, or lets the next one pass at once. */
  wake(): void {
    this.#isWoken = true;
    this.#resume();
  }

  /** Resolves after `ms`, when woken, or when stopped. */
  async wait(ms: number): Promise<void> {
    if (!this.#isWoken && !this.#isStopped) {
      const over = Promise.withResolvers<undefined>();
      this.#resume = () => over.resolve(undefined);
      const timer = setTimeout(this.#resume, ms);
      await over.promise;
      clearTimeout(timer);
    }
    this.#isWoken = false;
  }

  /** Lets every present and future wait pass at once. */
  stop(): void {
    this.#isStopped = true;
    this.wake();
  }
}
