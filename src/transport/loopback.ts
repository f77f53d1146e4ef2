/** Whether an address reaches this machine alone. */
export function isLoopback(address: string): boolean {
  return /^(127\.|::1$|::ffff:127\.|localhost$)/.test(address);
}
