/** The middle value; for an even number of values, the mean of the two middle values. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The growth exponent of cost with size: the slope of log(cost) over log(size), least squares. 1 is linear, 2 is quadratic. */
export function growthExponent(points) {
  const logs = points.map(({ size, cost }) => ({ x: Math.log(size), y: Math.log(cost) }));
  const x = mean(logs.map((point) => point.x));
  const y = mean(logs.map((point) => point.y));
  const slope = logs.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0);
  return slope / logs.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
