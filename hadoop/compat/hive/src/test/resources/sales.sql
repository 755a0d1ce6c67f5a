create table sales (item string, shop int, price int) row format delimited fields terminated by '\t' stored as textfile;
create table shops (shop int, town string) row format delimited fields terminated by '\t' stored as textfile;
load data local inpath 'in/sales' into table sales;
load data local inpath 'in/shops' into table shops;
select item, count(*), sum(price), min(price), max(price), avg(price) from sales group by item order by item;
select distinct town from shops order by town;
select town, count(distinct item), sum(price) from sales join shops on sales.shop = shops.shop group by town order by town;
select s.shop, s.town, count(x.item) from shops s left join sales x on s.shop = x.shop group by s.shop, s.town
    having count(x.item) < 660 order by s.shop;
select item, shop, price from (
    select item, shop, price, row_number() over (partition by item order by price desc, shop) as place from sales
) ranked where place <= 2 order by item, price desc, shop;
create table by_town (item string, price int) partitioned by (town string) row format delimited fields terminated by ',';
insert overwrite table by_town partition (town) select item, price, town from sales join shops on sales.shop = shops.shop
    distribute by town sort by town, item, price;
create table best stored as orc as select town, max(price) as price from by_town group by town;
insert into best select town, min(price) from by_town where town < 'town4' group by town;
select town, count(*), sum(price) from best group by town order by town;
insert overwrite local directory 'out/exported' row format delimited fields terminated by ','
    select item, price from by_town where town = 'town3' order by price, item limit 50
