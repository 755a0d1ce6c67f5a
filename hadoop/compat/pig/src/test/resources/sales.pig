-- What towns sell best, in many jobs: joins of three kinds, groups with and without an algebraic function, orders,
-- distinct and ranked rows, a cube and a cogroup.
sales = LOAD 'in/sales' AS (item:chararray, shop:int, amount:long);
shops = LOAD 'in/shops' AS (shop:int, town:chararray);

joined = JOIN sales BY shop, shops BY shop;
by_town = GROUP joined BY (town, item);
sums = FOREACH by_town GENERATE FLATTEN(group) AS (town, item), SUM(joined.amount) AS total, COUNT(joined) AS n;
ranked = ORDER sums BY total DESC, town, item PARALLEL 3;
STORE ranked INTO 'out/ranked';

best = LIMIT ranked 5;
STORE best INTO 'out/best';

sold = FOREACH sales GENERATE item;
kinds = DISTINCT sold PARALLEL 2;
STORE kinds INTO 'out/kinds';

skewed = JOIN shops BY shop LEFT OUTER, sales BY shop USING 'skewed' PARALLEL 2;
towns = GROUP skewed BY town;
spread = FOREACH towns {
    different = DISTINCT skewed.item;
    dearest = ORDER skewed BY amount DESC, item;
    most = LIMIT dearest 1;
    GENERATE group, COUNT(different), FLATTEN(most.item);
}
STORE spread INTO 'out/spread';

small = JOIN sales BY shop, shops BY shop USING 'replicated';
cubed = CUBE small BY CUBE(item, town);
cells = FOREACH cubed GENERATE FLATTEN(group), SUM(cube.amount), MAX(cube.amount);
STORE cells INTO 'out/cells' USING PigStorage(',');

both = COGROUP sales BY shop, shops BY shop PARALLEL 2;
sizes = FOREACH both GENERATE group, COUNT(sales), COUNT(shops);
numbered = RANK sizes BY $1 DESC DENSE;
STORE numbered INTO 'out/numbered';
